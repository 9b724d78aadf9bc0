"""Who runs ansible-playbook? This process, one per attempt: `python -m provisioning.jobs.child FOLDER`.

It knows neither Django nor the database. It reads its orders from spec.json in the folder, appends what the playbook
says to a spool, and ends the playbook when its worker says so or has been silent for too long. It outlives its worker:
whoever takes the attempt over speaks to it through the same pipe in the folder, with a higher number, and is the only
one it listens to from then on. While it lives it holds the folder's lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shlex
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from provisioning.jobs.hiding import Hiding, hiding_for

MARK = "QM_JOB"  # in the environment of everything that belongs to an attempt on this machine
NODE_MARK = "QM_ATTEMPT"  # the same on its nodes, which may be this very machine: every play sets it
ORDERS = "orders"  # the pipe in the folder: `WORD NUMBER [WHY]` by line; words are go, alive and stop
LOCK = "lock"
LEAVE_WAIT = 10.0
SILENT = "worker_lost"


class Spool:
    """The append-only record of the attempt. Writing never raises: a lost line is counted and told at the end."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._turn = threading.Lock()
        self.lost = 0
        self._torn = False

    def append(self, told: dict[str, Any]) -> None:
        """Write one line."""
        try:
            line = json.dumps(told, default=str).encode("ascii") + b"\n"
            with self._turn:
                self._write(b"\n" + line if self._torn else line)
        except (OSError, TypeError, ValueError, RecursionError):
            self.lost += 1

    def _write(self, line: bytes) -> None:
        self._torn = True
        while line:
            line = line[os.write(self._descriptor, line) :]
        self._torn = False

    def close(self, end: dict[str, Any]) -> None:
        """Write the end record, so that it is there even after a power cut."""
        self.append({"end": {**end, "lost": self.lost}})
        try:
            os.fsync(self._descriptor)
        except OSError:
            return


class Stopper(threading.Thread):
    """Listens to the worker and ends the playbook: TERM first, so that it can tidy up, then everything by force."""

    def __init__(self, folder: Path, spool: Spool, spec: dict[str, Any]) -> None:
        super().__init__(daemon=True, name="stopper")
        self._orders = os.open(folder / ORDERS, os.O_RDWR | os.O_NONBLOCK)  # for writing too: it never ends
        self._spool = spool
        self._mark: str = spec["mark"]
        self._grace: float = spec["grace_seconds"]
        self._silence: float = spec["silence_seconds"]
        self._step = 0
        self._rest = b""
        self.may_begin = threading.Event()
        self.why = ""

    def run(self) -> None:
        """Wait for a reason to stop, then stop."""
        self.why = self._wait_for_a_reason()
        self.may_begin.set()
        self._end_playbook()
        deadline = time.monotonic() + LEAVE_WAIT
        while time.monotonic() < deadline:  # the main thread sees the playbook's end and leaves by itself
            self.sweep()
            time.sleep(0.5)
        text = "it had to be left behind"  # with what the playbook said and nobody has read
        self._spool.close({"rc": None, "status": "stopped", "why": self.why, "text": text, "torn": True})
        os._exit(1)

    def _wait_for_a_reason(self) -> str:
        deadline = time.monotonic() + self._silence
        while (left := deadline - time.monotonic()) > 0:
            for word, why in self._heard(left):
                if word == "stop":
                    return why or "stopped"
                if word == "go":
                    self.may_begin.set()
                deadline = time.monotonic() + self._silence
        return SILENT

    def _heard(self, seconds: float) -> list[tuple[str, str]]:
        """What whoever holds the attempt said; a worker that was taken over has a lower number and isn't heard."""
        ready, _, _ = select.select([self._orders], [], [], seconds)
        if not ready:
            return []
        *lines, self._rest = (self._rest + os.read(self._orders, 4096)).split(b"\n")
        found = []
        for line in lines:
            word, _, more = line.decode("ascii", "replace").partition(" ")
            number, _, why = more.partition(" ")
            if number.isdigit() and int(number) >= self._step:
                self._step = int(number)
                found.append((word, why))
        return found

    def _end_playbook(self) -> None:
        import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - a job that nobody stops has no use for it

        from portal.embedded import processes  # noqa: PLC0415

        asked = psutil.Process().children()
        for process in asked:
            try:
                process.send_signal(signal.SIGTERM)
            except psutil.Error:
                continue
        processes.wait_until(lambda: not any(map(_lives, asked)), self._grace)

    def sweep(self) -> None:
        """End everything that carries the attempt's mark, except this process and what holds it."""
        if os.getpid() == 1:
            try:
                os.kill(-1, signal.SIGKILL)  # a namespace of our own: all but ourselves
            except ProcessLookupError:
                return
            return
        from portal.embedded import processes  # noqa: PLC0415

        for _ in range(20):
            ours = {os.getpid(), os.getppid()}
            left = [process for process in processes.marked(MARK, self._mark) if process.pid not in ours]
            if not left:
                return
            for process in left:
                processes.send(process, signal.SIGKILL, group=False)
            time.sleep(processes.LOOK_EVERY)


def _lives(process: Any) -> bool:
    import psutil  # noqa: PLC0415

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def run_playbook(
    folder: Path, spec: dict[str, Any], spool: Spool, stopper: Stopper, hiding: Hiding
) -> dict[str, Any]:
    """Run it to its end or its being stopped; the end record."""
    from ansible_runner.interface import run  # noqa: PLC0415 - after the thread listens: a worker that dies meanwhile is heard

    def take(event: dict[str, Any]) -> bool:
        spool.append(hiding.event(event))
        return False  # the runner keeps no file of it

    stopper.may_begin.wait()
    if stopper.why:
        return {"rc": None, "status": "stopped", "why": stopper.why, "text": ""}
    ran = run(  # type: ignore[no-untyped-call]
        private_data_dir=str(folder / "runner"),
        ident=spec["mark"],
        playbook=spec["playbook"],
        inventory=str(folder / "inventory.json"),
        cmdline=f"-e @{shlex.quote(str(folder / 'vars.json'))} {spec.get('words', '')}".rstrip(),
        forks=spec["forks"],
        project_dir=spec["project_dir"],
        fact_cache_type="memory",
        artifact_dir=spec.get("artifacts") or str(folder / "runner" / "artifacts"),
        quiet=True,
        suppress_env_files=True,
        settings={"pexpect_timeout": 1, "suppress_output_file": True, "suppress_ansible_output": True},
        event_handler=take,
        cancel_callback=lambda: False,  # without one the runner would put its own signal handlers in place
    )
    return {"rc": ran.rc, "status": ran.status, "why": stopper.why, "text": ""}


def main(folder: Path) -> int:
    """Run the attempt that `folder` describes."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it with this process, however that ends
    spool = Spool(folder / "events.spool")
    stopper = Stopper(folder, spool, spec)
    stopper.start()
    hiding = Hiding([], hosts=[])
    try:
        hiding = hiding_for(spec, folder / "inventory.json")
        end = run_playbook(folder, spec, spool, stopper, hiding)
    except BaseException as problem:  # noqa: BLE001 - whatever it is, the worker has to read of it
        text = hiding.text(f"{type(problem).__name__}: {problem}")[:2000]
        end = {"rc": None, "status": "error", "why": stopper.why, "text": text}
    stopper.sweep()
    spool.close(end)
    return 0


if __name__ == "__main__":
    code = main(Path(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # everything is on disk: tidying up a whole interpreter would only keep the nodes waiting
