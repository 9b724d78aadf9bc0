"""The campaign's workers serve every queue that the portal rings in: work that nobody hears of would look like work that is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from provisioning.workers.routing import Work, queue_of
from tests.chaos import postman, servers
from tests.chaos.stage import Stage, at_work


def test_every_queue_has_a_worker_and_a_postman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: started.append(words))
    stage = Stage(tmp_path, servers.given("", ""))
    stage.start_portal()
    assert stage.door is not None
    stage.door.close()
    served = {
        queue for words in started if "-Q" in words for queue in words[words.index("-Q") + 1].split(",")
    }
    assert served == {queue_of(work) for work in Work} == set(postman.QUEUES)
    assert len(stage.workers) == stage.worker_count
    assert len(stage.named("bell")) == 2, "a fault strikes one, and another one goes on"


class Thread:
    def __init__(self, said: list[str], name: str, *, starts: bool = True) -> None:
        self.said, self.name, self.starts = said, name, starts

    def start(self) -> None:
        if not self.starts:
            raise RuntimeError("the web server did not start")
        self.said.append(f"{self.name} starts")

    def end(self) -> None:
        self.said.append(f"{self.name} ends")


def test_who_brings_back_what_was_killed_ends_before_the_stage_is_cleared_however_the_run_ends() -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), at_work(Thread(said, "mender"), Thread(said, "visitor")):
        raise KeyboardInterrupt
    assert said == ["mender starts", "visitor starts", "visitor ends", "mender ends"]


def test_a_visitor_that_finds_nobody_leaves_no_mender_behind() -> None:
    said: list[str] = []
    with (
        pytest.raises(RuntimeError, match="did not start"),
        at_work(Thread(said, "mender"), Thread(said, "visitor", starts=False)),
    ):
        pass
    assert said == ["mender starts", "mender ends"]
