"""Is nobody's process ended but one's own, and is only one supervisor at home?"""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from portal.embedded import locations, processes, state
from portal.embedded.errors import AlreadyRunningError
from portal.embedded.processes import ProcessId
from portal.embedded.state import Lock, Started, State
from tests.portal.embedded.conftest import Track

DEAD = ProcessId(2**22 + 1, "long ago")


def sleeper(track: Track, **variables: str | None) -> ProcessId:
    argv = processes.with_variables(["sleep", "60"], dict(variables))
    found = processes.identify(track(subprocess.Popen(argv, start_new_session=True)).pid)
    assert found is not None
    return found


def me() -> ProcessId:
    found = processes.identify(os.getpid())
    assert found is not None
    return found


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = State(me(), url="http://x", started=[Started("web", 4, DEAD, (processes.KILL,))])

    written.write(tmp_path)

    assert State.read(tmp_path) == written
    assert locations.state_file(tmp_path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text", ["", "{}", "null", '{"supervisor": 1}', "\x00", '{"supervisor": {"pid": 1}}']
)
def test_a_state_that_cannot_be_read_proves_nothing(tmp_path: Path, text: str) -> None:
    locations.state_file(tmp_path).write_text(text)

    assert State.read(tmp_path) is None
    assert state.clean_up(tmp_path) == []


def test_processes_of_a_dead_supervisor_are_ended(tmp_path: Path, track: Track) -> None:
    left = sleeper(track)
    State(DEAD, started=[Started("web", 4, left, (processes.KILL,))]).write(tmp_path)

    assert state.clean_up(tmp_path) == ["web"]

    assert not left.alive
    assert not locations.state_file(tmp_path).exists()


def test_a_stranger_that_got_the_number_of_a_dead_process_is_left_alone(tmp_path: Path, track: Track) -> None:
    stranger = sleeper(track)
    ours = dataclasses.replace(stranger, started="an earlier moment")
    State(DEAD, started=[Started("web", 4, ours, (processes.KILL,))]).write(tmp_path)

    assert state.clean_up(tmp_path) == []

    assert stranger.alive


def test_a_stray_with_the_token_is_ended_and_one_with_another_is_not(tmp_path: Path, track: Track) -> None:
    written = State(DEAD)
    stray = sleeper(track, **{state.RUN_VARIABLE: written.token})
    stranger = sleeper(track, **{state.RUN_VARIABLE: "f" * 32})
    written.write(tmp_path)

    state.clean_up(tmp_path)

    assert not stray.alive
    assert stranger.alive


def test_a_second_supervisor_is_refused_and_told_where_the_first_is(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    first.take()
    State(me(), url="http://127.0.0.1:8017").write(tmp_path)

    with pytest.raises(AlreadyRunningError, match=rf"http://127.0.0.1:8017 \(process {os.getpid()}\)"):
        Lock(tmp_path).take()

    first.release()


def test_a_lock_whose_supervisor_is_dead_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reaper = Lock(tmp_path)
    reaper.take()
    State(DEAD).write(tmp_path)
    looks: list[int] = []

    def look(seconds: float) -> None:
        looks.append(1)
        reaper.release()

    monkeypatch.setattr(processes.time, "sleep", look)
    second = Lock(tmp_path)
    second.take()

    assert looks
    second.release()
