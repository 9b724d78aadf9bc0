"""How does a probe run a tool so that it always ends, never twice at once, and never brings home more than it may?

A tool runs in a session of its own under a watcher that ends it when the probe itself is gone. At its limit its whole group gets
TERM, then KILL. A process stuck in the kernel survives even that: a marker with its pid stays, and as long as it lives no second
copy is started. A probe that came by ssh ends its tools when the connection is gone: a cut connection sends no signal.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import selectors
import signal
import subprocess
import time

CAP = 2 * 1024 * 1024  # of raw output; what comes after is counted and thrown away
STDERR_CAP = 4096
TERM_SECONDS, KILL_SECONDS, LINGER_SECONDS = 2.0, 3.0, 0.5
CHUNK = 65536
# Tools that live outside the PATH of a root shell on real nodes.
MORE_FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/quartermaster/bin",
    "/usr/local/cuda/bin",
    "/opt/nccl-tests/build",
    "/usr/local/mpi/bin",
    "/usr/mpi/gcc/openmpi-4.1.7rc1/bin",
)
# The watcher reads a pipe only the probe writes to. The pipe ends with the probe, however that ended. 0 is the tool's own group.
WATCH = """\
( trap '' TERM HUP INT; read -r _ < /dev/fd/"$1"; kill -s TERM -- 0; sleep 2; kill -s KILL -- 0 ) > /dev/null 2>&1 < /dev/null &
shift; exec "$@"
"""
NAME = "probe-watch"
CUT = "the connection was cut, so nobody waits for this any more"


class Runner(object):
    """Runs tools of one node; `node_root` is "" on a real node, where a simulated one has its root folder."""

    def __init__(self, node_root, time_limit):
        self.root = (node_root or "").rstrip("/")
        self.limit = float(time_limit)
        self.lifeline, self._writing = os.pipe()
        self._server = ssh_server(os.getppid())
        around = dict(os.environ)  # noqa: TID251 - runs on the node, where there is no portal
        named = [part for part in around.get("PATH", "").split(os.pathsep) if part]
        if not self.root:
            named += [part for part in MORE_FOLDERS if part not in named]
        self.env = dict(around, LC_ALL="C", LANG="C", PATH=os.pathsep.join(named))
        # The probe itself calls nothing but a simulated node's own stand-ins; these may call the harmless tools beside them.
        home = os.path.realpath(around.get("QM_NODE_DIR") or os.path.dirname(self.root))
        self.folders = [
            part for part in named if not self.root or os.path.realpath(part).startswith(home + os.sep)
        ]

    def find(self, name):
        """The tool's path, or None."""
        for folder in self.folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None

    def evidence(self, identity, argv, run=1, limit=None):
        """Run one tool and tell of it as the portal expects."""
        limit = self.limit if limit is None else float(limit)
        row = {"id": identity, "command": list(argv), "run": run, "rc": None, "seconds": 0.0, "stderr": ""}
        if self.alone():
            return finish(row, "timed_out", stderr=CUT)
        path = self.find(argv[0])
        if path is None:
            return finish(row, "missing", stderr="%s is not installed" % argv[0])
        marker = self._marker(identity)
        older = living(marker)
        if older is not None:
            text = (
                "a copy started earlier (pid %d) still runs and can't be ended; no second one is started"
                % older
            )
            return finish(row, "timed_out", stderr=text)
        return self._run(row, [path] + list(argv[1:]), marker, limit)

    def _run(self, row, argv, marker, limit):
        started = time.monotonic()
        try:
            child = subprocess.Popen(
                ["/bin/sh", "-c", WATCH, NAME, str(self.lifeline)] + argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
                start_new_session=True,
                pass_fds=(self.lifeline,),
            )
        except OSError as error:
            return finish(row, "failed_to_start", stderr=str(error))
        mark(marker, child.pid)
        with child.stdout, child.stderr:
            out, err = Kept(CAP), Kept(STDERR_CAP)
            in_time = drain(child, out, err, started + limit, self.alone)
            gone = end_group(child)
        if gone:
            unmark(marker)
        row["seconds"] = round(time.monotonic() - started, 3)
        text = err.data.decode("utf-8", "replace")
        if not in_time:
            return finish(
                row, "timed_out", out, text or (CUT if self.alone() else "no end within %g s" % limit)
            )
        row["rc"] = child.returncode
        could_not = child.returncode in (126, 127) and text.startswith(NAME)
        return finish(row, "failed_to_start" if could_not else "ran", out, text)

    def alone(self):
        """True when the connection that asked for all this is gone: nobody waits for an answer."""
        return self._server is not None and birth(self._server[0]) != self._server[1]

    def _marker(self, identity):
        """One file per evidence, in a folder that a reboot empties."""
        return os.path.join(self.root + "/run", "quartermaster", "probe-%s" % identity)

    def close(self):
        """Let every watcher know that nothing is left to watch."""
        for end in (self._writing, self.lifeline):
            os.close(end)


class Kept(object):
    """The first bytes of a stream, and how many there were."""

    def __init__(self, cap):
        self.cap, self.data, self.total = cap, b"", 0

    def add(self, chunk):
        self.total += len(chunk)
        if len(self.data) < self.cap:
            self.data += chunk[: self.cap - len(self.data)]


def drain(child, out, err, deadline, alone):
    """Read both streams until the tool has ended; False when the deadline came first, or nobody waits for it any more. What holds
    the streams open after that is no longer waited for."""
    linger = None
    with selectors.DefaultSelector() as waiting:
        for stream, kept in ((child.stdout, out), (child.stderr, err)):
            os.set_blocking(stream.fileno(), False)
            waiting.register(stream, selectors.EVENT_READ, kept)
        while True:
            now = time.monotonic()
            if child.poll() is not None:
                linger = now + LINGER_SECONDS if linger is None else linger
                if not waiting.get_map() or now >= linger:
                    return True
            elif now >= deadline or alone():
                return False
            until = deadline if linger is None else linger
            if not waiting.get_map():
                time.sleep(0.01)
                continue
            for key, _ in waiting.select(max(0.0, min(until - now, 0.25))):
                chunk = os.read(key.fd, CHUNK)
                key.data.add(chunk) if chunk else waiting.unregister(key.fileobj)


def end_group(child):
    """End the tool and all it started; False when something in it can't be ended."""
    if child.poll() is None:
        send(child.pid, signal.SIGTERM)
        wait(child, TERM_SECONDS)
    send(child.pid, signal.SIGKILL)  # the watcher and whatever the tool left behind
    return wait(child, KILL_SECONDS)


def send(group, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def wait(child, seconds):
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def birth(pid):
    """When the kernel started a process, in its own ticks: pids come round, births don't. None when there is no such process."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as handle:
            return handle.read().rsplit(b")", 1)[1].split()[19].decode()
    except (OSError, IndexError):
        return None


def ssh_server(pid):
    """The process that serves our connection, as (pid, birth): the nearest sshd above `pid`. None when we did not come by ssh."""
    while pid > 1:
        try:
            with open("/proc/%d/stat" % pid, "rb") as handle:
                name, rest = handle.read().split(b"(", 1)[1].rsplit(b")", 1)
        except (OSError, IndexError, ValueError):
            return None
        if name.startswith(b"sshd"):
            return pid, birth(pid)
        pid = int(rest.split()[1])
    return None


def mark(marker, pid):
    try:
        os.makedirs(os.path.dirname(marker), exist_ok=True)
        with open(marker, "w") as handle:
            handle.write("%d %s\n" % (pid, birth(pid) or "?"))
    except OSError:
        pass  # a full disk must not hide what the tools say


def unmark(marker):
    with contextlib.suppress(OSError):
        os.unlink(marker)


def living(marker):
    """The pid a marker names when that very process still lives, else None."""
    try:
        with open(marker) as handle:
            pid, born = handle.read().split()
        return int(pid) if birth(int(pid)) == born else None
    except (OSError, ValueError):
        return None


def finish(row, outcome, out=None, stderr=""):
    data = b"" if out is None else out.data
    row.update(
        outcome=outcome,
        stdout=base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii"),
        stdout_bytes=0 if out is None else out.total,
        truncated=out is not None and out.total > len(data),
        stderr=stderr[:STDERR_CAP],
    )
    return row
