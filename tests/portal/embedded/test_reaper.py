"""Does the reaper end what a dead supervisor left, and never what a living one runs?"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.embedded import locations, processes
from portal.embedded.processes import ProcessId
from portal.embedded.state import Lock, Started, State
from tests.portal.embedded.conftest import Track

ROOT = Path(__file__).parents[3]
SOON = 20

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start_reaper(tmp_path: Path, track: Track) -> Start:
    def start(token: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "portal.embedded.reaper", str(tmp_path), token]
        return track(subprocess.Popen(words, stdin=subprocess.PIPE, cwd=ROOT))

    return start


def sleeper(track: Track) -> tuple[subprocess.Popen[bytes], ProcessId]:
    process = track(subprocess.Popen(["sleep", "300"], start_new_session=True))
    found = processes.identify(process.pid)
    assert found is not None
    return process, found


def state_of(var_dir: Path, supervisor: ProcessId, child: ProcessId) -> State:
    state = State(supervisor, started=[Started("web", 4, child, (processes.KILL,))])
    state.write(var_dir)
    return state


def let_go(reaper: subprocess.Popen[bytes]) -> None:
    assert reaper.stdin is not None
    reaper.stdin.close()


def test_a_supervisor_that_is_slow_to_die_is_waited_for(
    tmp_path: Path, track: Track, start_reaper: Start
) -> None:
    """A dying process closes its pipe before its lock, and both before it is dead."""
    supervisor, its_id = sleeper(track)
    _, child = sleeper(track)
    lock = Lock(tmp_path)
    lock.take()
    reaper = start_reaper(state_of(tmp_path, its_id, child).token)
    let_go(reaper)
    time.sleep(1.0)
    assert child.alive

    supervisor.kill()
    time.sleep(0.3)
    assert child.alive
    lock.release()

    assert reaper.wait(SOON) == 0
    assert not child.alive
    assert not locations.state_file(tmp_path).exists()


def test_processes_of_a_new_run_are_left_alone(tmp_path: Path, track: Track, start_reaper: Start) -> None:
    _, its_id = sleeper(track)
    _, child = sleeper(track)
    state_of(tmp_path, its_id, child)
    reaper = start_reaper("the token of an earlier run")

    let_go(reaper)

    assert reaper.wait(SOON) == 0
    assert child.alive


def test_a_run_that_ended_in_order_lets_the_reaper_go_at_once(tmp_path: Path, start_reaper: Start) -> None:
    reaper = start_reaper("any")

    let_go(reaper)

    assert reaper.wait(SOON) == 0
