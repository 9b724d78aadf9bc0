"""Does the portal start once, live through the death of its parts, and end without a trace?"""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.embedded import locations, processes, state
from portal.embedded.errors import AlreadyRunningError, StartError
from portal.embedded.health import is_healthy
from portal.embedded.processes import ProcessId
from portal.embedded.programs import WEB, Program
from portal.embedded.supervisor import Supervisor
from tests.portal.embedded import sleepers
from tests.portal.embedded.conftest import Track

ROOT = Path(__file__).parents[3]


@pytest.fixture
def var_dir(short_dir: Path) -> Path:
    return short_dir / "var"


@pytest.fixture
def outside(var_dir: Path, track: Track) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor in a process of its own, ready."""
    process = start_outside(var_dir, track)
    yield process
    process.terminate()
    process.wait(20)


def start_outside(var_dir: Path, track: Track) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.portal.embedded.sleepers", str(var_dir)]
    process = track(
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
        )
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith(b"ready"), (var_dir / "log/up.log").read_text()
    return process


def supervise(var_dir: Path, **more: object) -> Supervisor:
    arguments = {"portal_programs": sleepers.sleepers, "setup": None, **more}
    return Supervisor(sleepers.config(var_dir), **arguments)  # type: ignore[arg-type]


def children(var_dir: Path) -> dict[str, ProcessId]:
    found = state.State.read(var_dir)
    assert found is not None
    return {entry.name: entry.process for entry in found.started}


def stray(var_dir: Path) -> ProcessId:
    found = processes.identify(int((var_dir / "stray.pid").read_text()))
    assert found is not None
    return found


def all_gone(*found: ProcessId) -> bool:
    return processes.wait_until(lambda: not any(process.alive for process in found), 15)


def test_everything_runs_inside_the_block_and_nothing_after_it(var_dir: Path) -> None:
    with supervise(var_dir) as running:
        running.wait_until_healthy(20)
        found = [*children(var_dir).values(), stray(var_dir)]
        assert len(found) == 4
        assert set(running.pids()) == {"jobs", "beat", "web"}

    assert all_gone(*found)
    assert not locations.state_file(var_dir).exists()


def test_programs_end_in_order_from_the_web_server_down(var_dir: Path) -> None:
    ended: list[str] = []

    def programs(config: object, *, listener: object) -> list[Program]:
        names = ("database", "broker", "worker", "beat", "web")
        script = 'trap "echo ended; exit 0" TERM; while :; do sleep 0.1; done'
        return [Program(name, tier, ("sh", "-c", script)) for tier, name in enumerate(names)]

    screen = io.StringIO()
    with supervise(var_dir, portal_programs=programs, screen=screen):
        processes.wait_until(lambda: False, 0.3)

    ended = [line.split()[1] for line in screen.getvalue().splitlines() if line.endswith("ended")]
    assert ended == ["web", "beat", "worker", "broker", "database"]


def test_a_program_that_dies_is_started_again_and_its_strays_are_ended(var_dir: Path) -> None:
    with supervise(var_dir) as running:
        running.wait_until_healthy(20)
        first, left = running.pids()["jobs"], stray(var_dir)

        os.kill(first, signal.SIGKILL)

        assert processes.wait_until(lambda: running.pids().get("jobs", first) != first, 10)
        assert not left.alive
        assert children(var_dir)["jobs"].pid == running.pids()["jobs"]


def test_pauses_between_starts_grow(var_dir: Path) -> None:
    screen = io.StringIO()

    def programs(config: object, *, listener: object) -> list[Program]:
        return [Program("web", WEB, ("sh", "-c", "echo broken; exit 3"))]

    with (
        supervise(var_dir, portal_programs=programs, screen=screen) as running,
        pytest.raises(StartError, match="broken"),
    ):
        running.wait_until_healthy(20)

    said = screen.getvalue()
    assert "web ended with code 3; it starts again in 0.5 s" in said
    assert "web ended with code 3; it starts again in 1 s" in said


def test_a_program_deaf_to_the_polite_signal_is_killed(var_dir: Path) -> None:
    with supervise(var_dir, portal_programs=sleepers.deaf):
        assert processes.wait_until(lambda: "deaf" in _log(var_dir, "web"), 10)
        found = children(var_dir)["web"]

    assert not found.alive


def test_a_second_start_on_the_same_var_is_refused(var_dir: Path) -> None:
    with supervise(var_dir) as running:
        running.wait_until_healthy(20)

        with pytest.raises(AlreadyRunningError, match=running.base_url), supervise(var_dir):
            pass

        assert is_healthy(running.base_url)


def test_two_vars_run_side_by_side_on_ports_of_their_own(short_dir: Path) -> None:
    with supervise(short_dir / "a") as one, supervise(short_dir / "b") as two:
        one.wait_until_healthy(20)
        two.wait_until_healthy(20)

        assert one.port != two.port


def test_hooks_run_before_the_web_server_and_after_its_first_answer(var_dir: Path) -> None:
    seen: list[tuple[str, set[str], bool]] = []

    def note(name: str) -> "object":
        return lambda running: seen.append((name, set(running.pids()), is_healthy(running.base_url)))

    with supervise(var_dir, before_ready=note("before"), after_ready=note("after")):
        pass

    assert seen == [("before", set(), False), ("after", {"jobs", "beat", "web"}, True)]


def test_a_hook_that_fails_ends_what_was_started(var_dir: Path) -> None:
    left: list[ProcessId] = []

    def fail(running: Supervisor) -> None:
        left.extend(children(var_dir).values())
        raise StartError("no fleet")

    with pytest.raises(StartError, match="no fleet"), supervise(var_dir, after_ready=fail):
        pass

    assert len(left) == 3
    assert not any(process.alive for process in left)
    assert not locations.state_file(var_dir).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_polite_signal_ends_it_all(var_dir: Path, track: Track, number: signal.Signals) -> None:
    process = start_outside(var_dir, track)
    found = [*children(var_dir).values(), stray(var_dir)]

    process.send_signal(number)

    assert process.wait(20) == 0
    assert not any(one.alive for one in found)
    assert not locations.state_file(var_dir).exists()
    assert list(locations.runtime_dir(var_dir).glob("*")) == []


def test_a_supervisor_that_was_killed_takes_its_children_with_it(
    var_dir: Path, outside: subprocess.Popen[bytes]
) -> None:
    found = [*children(var_dir).values(), stray(var_dir)]

    outside.kill()

    assert all_gone(*found)
    assert processes.wait_until(lambda: not locations.state_file(var_dir).exists(), 10)


def test_a_start_after_a_kill_of_supervisor_and_reaper_cleans_up_and_goes_on(
    var_dir: Path, outside: subprocess.Popen[bytes]
) -> None:
    found = [*children(var_dir).values(), stray(var_dir)]
    for reaper in _reapers(var_dir):
        processes.send(reaper, signal.SIGKILL, group=False)
    outside.kill()
    outside.wait()
    assert all(process.alive for process in found)

    with supervise(var_dir) as running:
        running.wait_until_healthy(20)

        assert not any(process.alive for process in found)


def test_a_reaper_that_was_killed_is_replaced(var_dir: Path, outside: subprocess.Popen[bytes]) -> None:
    (first,) = _reapers(var_dir)

    processes.send(first, signal.SIGKILL, group=False)

    assert processes.wait_until(lambda: bool(_reapers(var_dir)) and first not in _reapers(var_dir), 10)


def _reapers(var_dir: Path) -> list[ProcessId]:
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    lines = ((pid, processes.command_line(pid)) for pid in pids)
    wanted = ("portal.embedded.reaper", str(var_dir))
    found = (processes.identify(pid) for pid, words in lines if all(word in words for word in wanted))
    return [process for process in found if process is not None]


def _log(var_dir: Path, name: str) -> str:
    path = var_dir / "log" / f"{name}.log"
    return path.read_text() if path.exists() else ""
