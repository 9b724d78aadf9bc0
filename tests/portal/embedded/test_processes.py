"""Is a process known by more than its number, and does it end, however stubborn?"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from portal.embedded import processes
from portal.embedded.processes import ProcessId, Stage
from tests.portal.embedded.conftest import Track

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def sleeper(track: Track, **variables: str) -> subprocess.Popen[bytes]:
    argv = processes.with_variables(["sleep", "60"], dict(variables))
    return track(subprocess.Popen(argv, start_new_session=True))


def identity(process: subprocess.Popen[bytes]) -> ProcessId:
    found = processes.identify(process.pid)
    assert found is not None
    return found


def test_a_running_process_is_alive_and_a_dead_one_is_not(track: Track) -> None:
    process = sleeper(track)
    found = identity(process)

    assert found.alive
    process.kill()
    process.wait()
    assert not found.alive


def test_a_zombie_is_not_alive(track: Track) -> None:
    process = sleeper(track)
    found = identity(process)

    process.kill()

    assert processes.wait_until(lambda: not found.alive, 5)
    assert process.returncode is None  # nobody has waited for it yet


def test_another_process_with_the_same_number_is_not_the_one_meant(track: Track) -> None:
    process = sleeper(track)
    earlier = ProcessId(process.pid, "some earlier moment")

    assert not earlier.alive
    processes.send(earlier, signal.SIGKILL, group=True)
    assert identity(process).alive


def test_a_process_that_obeys_ends_at_the_first_stage(track: Track) -> None:
    process = sleeper(track)

    ended = processes.end(identity(process), [Stage(signal.SIGTERM, 5), processes.KILL], gone=_gone(process))

    assert ended
    assert process.returncode == -signal.SIGTERM


def test_a_process_that_ignores_the_polite_signal_is_killed(track: Track) -> None:
    process = track(
        subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True)
    )
    assert process.stdout is not None
    process.stdout.readline()

    ended = processes.end(
        identity(process), [Stage(signal.SIGTERM, 0.2), processes.KILL], gone=_gone(process)
    )

    assert ended
    assert process.returncode == -signal.SIGKILL


def test_a_person_in_a_hurry_does_not_wait_for_the_polite_stage(track: Track) -> None:
    process = track(
        subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True)
    )
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()

    processes.end(
        identity(process),
        [Stage(signal.SIGTERM, 30), processes.KILL],
        gone=_gone(process),
        hurry=lambda: True,
    )

    assert time.monotonic() - began < 5


def test_ending_a_group_ends_its_children_too(track: Track) -> None:
    parent = track(
        subprocess.Popen(
            ["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
        )
    )
    assert parent.stdout is not None
    child = processes.identify(int(parent.stdout.readline()))
    assert child is not None

    processes.end(identity(parent), [processes.KILL], gone=_gone(parent))

    assert processes.wait_until(lambda: not child.alive, 5)


def test_marked_processes_are_found_by_their_environment(track: Track) -> None:
    token = os.urandom(8).hex()
    ours, strangers = sleeper(track, QM_TRY=token), sleeper(track, QM_TRY=token + "0")

    found = {process.pid for process in processes.marked("QM_TRY", token)}

    assert ours.pid in found
    assert strangers.pid not in found


def test_variables_are_set_and_unset_without_a_second_process() -> None:
    argv = processes.with_variables(
        ["sh", "-c", 'echo "$A-${HOME-none}"; echo $PPID'], {"A": "1 2", "HOME": None}
    )

    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()

    assert said == ["1 2-none", str(os.getpid())]


@pytest.mark.parametrize("pid", [2**22 + 1, 2**30])
def test_a_number_that_nobody_has_is_no_process(pid: int) -> None:
    assert processes.identify(pid) is None
    assert processes.command_line(pid) == []


def _gone(process: subprocess.Popen[bytes]) -> Callable[[], bool]:
    return lambda: process.poll() is not None
