"""Whatever an attempt leaves behind is found: each kind is left on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from provisioning.fleet.models import Node
from provisioning.jobs import claims, sweeper, workspace
from provisioning.jobs.child import MARK, NODE_MARK
from provisioning.jobs.models import Job, NodeLease
from tests.chaos import leftovers

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _ages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look makes everything old at once; the next test finds them as they were."""
    monkeypatch.setattr(sweeper, "OLD_FOLDER", timedelta(minutes=10))
    monkeypatch.setattr(sweeper, "OLD_LOOK", timedelta(minutes=3))


@pytest.fixture
def ended(queue: Callable[..., Job], make_nodes: Callable[..., list[Node]]) -> Job:
    """A job whose attempt is over and whose node is free."""
    job = queue(make_nodes(1))
    assert claims.claim(job.pk, worker="test:1/2") is not None
    NodeLease.objects.update(released_at="2026-01-01T00:00:00Z")
    job.refresh_from_db()
    return job


def found(home: Path) -> list[str]:
    return leftovers.all_of(home, Path(settings.JOBS_DIR))


@pytest.fixture
def sleeper() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes with words and variables of their own."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(600)", *words],
            env={"PATH": os.environ["PATH"], **variables},
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_nothing_left_is_nothing_found(ended: Job, tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize("variable", [MARK, NODE_MARK])
def test_process_of_an_attempt_here_or_on_a_node_is_found(
    ended: Job, tmp_path: Path, sleeper: Callable[..., subprocess.Popen[bytes]], variable: str
) -> None:
    process = sleeper(**{variable: ended.mark})
    [said] = found(tmp_path)
    assert str(process.pid) in said


def test_look_at_a_node_and_keeper_of_this_campaign_are_found(
    ended: Job, tmp_path: Path, sleeper: Callable[..., subprocess.Popen[bytes]]
) -> None:
    sleeper(str(tmp_path / "q7-1-abc"), **{MARK: "q7-1-abc"})
    sleeper(leftovers.KEEPER, PORTAL_VAR_DIR=str(tmp_path / "var"))
    assert len(found(tmp_path)) == 2


def test_what_belongs_to_another_campaign_is_not_ours(
    ended: Job, tmp_path: Path, sleeper: Callable[..., subprocess.Popen[bytes]]
) -> None:
    sleeper("/tmp/another/j7-1-abc", **{MARK: "j7-1-abc"})
    sleeper(leftovers.KEEPER, PORTAL_VAR_DIR="/tmp/another/var")
    assert found(tmp_path) == []


def test_folder_that_no_sweep_takes_is_found(ended: Job, tmp_path: Path) -> None:
    workspace.create(Path(settings.JOBS_DIR), "j7-1-0123abcd", owner="somebody else")
    assert found(tmp_path) == ["folder j7-1-0123abcd"]


def test_credentials_in_memory_are_found(ended: Job, tmp_path: Path) -> None:
    space = workspace.at(Path(settings.JOBS_DIR) / ended.mark)
    space.secrets.mkdir(parents=True, mode=0o700)
    try:
        assert any(space.secrets.name in said for said in found(tmp_path))
    finally:
        space.secrets.rmdir()


def test_node_that_is_still_held_is_found(ended: Job, tmp_path: Path) -> None:
    NodeLease.objects.update(released_at=None)
    [said] = found(tmp_path)
    assert said.startswith("lease ")
