"""What the database has no room for is on disk, whole, private, found by its number, and written once."""

from __future__ import annotations

import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from provisioning.fleet.models import Node
from provisioning.jobs import overflow
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.overflow import Kept, Overflow, Reader
from tests.provisioning.jobs.test_recorder import ok, recorder_for, write

MONTH = date(2026, 11, 1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    settings.OVERFLOW_DIR = tmp_path / "overflow"
    return tmp_path / "overflow" / "2026-11"


@pytest.fixture
def job(make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]) -> Job:
    return queue(make_nodes(2))


def filled(*counters: int, **more: Any) -> Overflow:
    made = Overflow(job_id=12, attempt=1, month=MONTH, **more)
    for counter in counters:
        made.add(Kept(counter=counter, text=f"line {counter}", result={"rc": counter}))
    made.flush()
    return made


def test_events_are_found_by_their_number_in_whichever_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overflow, "PIECE", 200)
    filled(*range(5, 500, 2))
    reader = Reader(12, 1, MONTH)
    assert len(overflow.read_index(12, 1, MONTH)) > 20
    for counter in (5, 251, 499):
        assert reader.event(counter) == Kept(counter=counter, text=f"line {counter}", result={"rc": counter})
    assert [reader.event(counter) for counter in (1, 6, 500)] == [None, None, None]
    assert [kept.counter for kept in reader.all()] == list(range(5, 500, 2))


def test_what_is_there_is_not_written_again() -> None:
    filled(1, 2)
    filled(1, 2, 3)
    assert [kept.counter for kept in Reader(12, 1, MONTH).all()] == [1, 2, 3]


def test_piece_that_a_crash_tore_is_written_again(folder: Path) -> None:
    filled(1)
    with (folder / "J-12.1.events").open("ab") as file:
        file.write(b"torn")
    with (folder / "J-12.1.index").open("ab") as file:
        file.write(b"2 2 2")
    filled(1, 2)
    assert [kept.text for kept in Reader(12, 1, MONTH).all()] == ["line 1", "line 2"]


def test_files_are_their_owners_alone(folder: Path) -> None:
    filled(1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_attempt_that_fills_its_share_of_the_disk_gets_no_more() -> None:
    full = filled(1, largest=10)
    assert not full.add(Kept(counter=2, text="more"))


def test_damaged_piece_is_no_event(folder: Path) -> None:
    filled(1)
    (folder / "J-12.1.events").write_bytes(b"nonsense")
    assert Reader(12, 1, MONTH).event(1) is None


@pytest.mark.django_db
def test_job_that_says_too_much_keeps_the_rest_on_disk(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provisioning.jobs.recorder.JOB_LIMIT", 1000)
    events = write(recorder_for(job), *[ok(text=f"{number}" * 400, msg="x") for number in range(5)])
    assert [event.on_disk for event in events] == [False, False, True, True, True]
    reader = Reader(job.pk, 1, job.month)
    assert [kept.text for kept in reader.all()] == ["2" * 400, "3" * 400, "4" * 400]
    third = reader.event(3)
    assert third is not None
    assert third.result == {"msg": "x"}


@pytest.mark.django_db
def test_overflow_holds_no_secret(job: Job) -> None:
    write(recorder_for(job), ok(text="hunter2-hunter2 " + "x" * 100_000, msg="hunter2-hunter2" * 9000))
    (kept,) = Reader(job.pk, 1, job.month).all()
    assert "hunter2" not in kept.text + str(kept.result)
    assert kept.text.endswith("x" * 1000)


@pytest.mark.django_db
def test_disk_that_refuses_costs_the_overflow_and_not_the_job(
    job: Job, tmp_path: Path, settings: LazySettings
) -> None:
    (tmp_path / "a file").touch()
    settings.OVERFLOW_DIR = tmp_path / "a file"
    (event,) = write(recorder_for(job), ok(text="y" * 300_000))
    assert (event.truncated, event.on_disk) == (True, False)
    assert JobEvent.objects.count() == 1
    assert Job.objects.get().bytes_dropped >= 200_000
