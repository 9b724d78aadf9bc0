"""One command starts a worker for kinds of work and sites."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from portal.config import Config, ConfigError, read_config
from portal.embedded import programs
from provisioning.management.commands import worker
from provisioning.workers.routing import Work
from provisioning.workers.sizing import Machine
from provisioning.workers.starting import celery_words

MACHINE = Machine(cores=4, memory_mib=8192, free_mib=6000)


def said(*words: str) -> str:
    out = io.StringIO()
    call_command("worker", *words, "--dry-run", stdout=out)
    return out.getvalue()


def test_slots_are_told_or_follow_from_the_machine() -> None:
    def slots(*works: Work, told: int | None = None) -> str:
        words = celery_words(works, sites=[""], slots=told, machine=MACHINE)
        return words[words.index("-c") + 1]

    assert slots(Work.JOBS) == "8"
    assert slots(Work.JOBS, told=5) == "5"
    assert slots(Work.DOORBELL) == "2"


def test_command_listens_for_the_sites_of_the_environment_or_those_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "config", lambda: Config(worker_sites=("north",), worker_slots=7))
    assert " -Q jobs.north -c 7 " in said("jobs")
    assert " -Q jobs.south -c 4 " in said("jobs", "--sites", "south", "--slots", "4")
    assert " -Q doorbell,looks.north -c 2 " in said("doorbell", "looks")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["jobs", "looks"], "looks would wait for them"),
        (["jobs", "--sites", "No Rth"], "is not a site's name"),
        (["jobs", "--slots", "0"], "from 1 on"),
    ],
)
def test_what_can_not_be_a_worker_is_said(words: list[str], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        said(*words)


def test_site_of_the_environment_that_is_none_stops_the_start() -> None:
    assert read_config({"PORTAL_WORKER_SITES": "north, -"}).worker_sites == ("north", "-")
    with pytest.raises(ConfigError, match=r"PORTAL_WORKER_SITES .*'North' is no site"):
        read_config({"PORTAL_WORKER_SITES": "North"})
    with pytest.raises(ConfigError, match="PORTAL_WORKER_SLOTS"):
        read_config({"PORTAL_WORKER_SLOTS": "0"})


def test_portal_on_one_machine_has_a_worker_for_short_work_and_one_for_jobs(tmp_path: Path) -> None:
    chosen = Config(var_dir=tmp_path, worker_sites=("-", "north"), worker_slots=3)
    found = {each.name: " ".join(each.argv) for each in programs.workers(chosen, {})}
    assert set(found) == {"doorbell", "jobs"}
    assert " -Q doorbell,looks,looks.north -c 2 " in found["doorbell"]
    assert " -Q jobs,jobs.north -c 3 " in found["jobs"]
