"""A playbook runs from a read-only copy named by its content: whoever edits it meanwhile changes no job that runs, and nobody waits."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.embedded import processes
from portal.kernel.errors import Refused
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import checkout, playbooks
from provisioning.jobs.models import Job
from provisioning.jobs.services import drain_queue
from tests.provisioning.jobs.conftest import Tiny, said
from tests.provisioning.jobs.test_stopping import Running

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

GOES_ON = """
- name: Wait
  ansible.builtin.shell: touch {{ simulated_node_dir }}.here; while [ ! -e {{ simulated_node_dir }}.go ]; do sleep 0.1; done
- name: Read more
  ansible.builtin.include_tasks: more.yml
"""
MORE = "- name: Say\n  ansible.builtin.debug:\n    msg: {}\n"


@pytest.fixture
def copies(tmp_path: Path, settings: LazySettings) -> Path:
    """A folder of this test's own for copies."""
    settings.CHECKOUTS_DIR = tmp_path / "checkouts"
    return tmp_path / "checkouts"


def test_same_text_is_copied_once_and_any_other_anew(tiny: Tiny, copies: Path) -> None:
    first = checkout.current()
    assert checkout.current() == first
    assert (first.folder / "playbooks" / "tiny.yml").read_bytes() == tiny.file.read_bytes()
    tiny.says("- name: Other\n  ansible.builtin.command: echo other")
    second = checkout.current()
    tiny.file.chmod(0o755)
    third = checkout.current()
    assert len({first.hash, second.hash, third.hash}) == 3
    assert {copy.name for copy in copies.iterdir()} == {first.hash, second.hash, third.hash}


def test_what_roles_read_beside_their_folder_is_part_of_the_text(
    tiny: Tiny, copies: Path, tmp_path: Path, settings: LazySettings
) -> None:
    beside = tmp_path / "repository"
    (beside / checkout.READS_BESIDE).mkdir(parents=True)
    settings.BASE_DIR = beside
    before = checkout.current()
    (beside / checkout.READS_BESIDE / "new.yml").write_text("driver: 570\n", encoding="utf-8")
    after = checkout.current()
    assert before.hash != after.hash
    assert (after.folder.parent / checkout.READS_BESIDE / "new.yml").read_text() == "driver: 570\n"


def test_copy_is_read_only_and_its_owners_alone(tiny: Tiny, copies: Path) -> None:
    program = tiny.file.with_name("program")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = checkout.current()
    files = {
        file.name: stat.S_IMODE(file.stat().st_mode) for file in text.folder.rglob("*") if file.is_file()
    }
    assert files.pop("program") == 0o500
    assert set(files.values()) == {0o400}
    assert {stat.S_IMODE(place.stat().st_mode) for place in (copies, text.folder.parent)} == {0o700}


def test_copy_that_somebody_changed_is_not_used(tiny: Tiny, copies: Path) -> None:
    text = checkout.current()
    told = text.folder / "playbooks" / "tiny.yml"
    told.chmod(0o600)
    told.write_text(told.read_text().replace("hello", "hullo"), encoding="utf-8")
    again = checkout.current()
    assert again.hash == text.hash
    assert again.folder != text.folder, "jobs that run from it keep it"
    assert "hello" in again.playbook("tiny.yml").read_text()


def test_file_that_was_put_into_a_copy_is_found_too(tiny: Tiny, copies: Path) -> None:
    text = checkout.current()
    (text.folder / "more.yml").write_text("- hosts: all\n", encoding="utf-8")
    assert checkout.current().folder != text.folder


def test_text_that_changes_while_it_is_copied_is_copied_again(
    tiny: Tiny, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, left = checkout._copy, iter(["one", "two"])

    def edited(source: Path, to: Path) -> None:
        inner(source, to)
        if to.name == "ansible" and (word := next(left, "")):
            tiny.says(f"- name: Greet\n  ansible.builtin.command: echo {word}")
            inner(source, to.with_name("again"))
            (to.with_name("again") / "playbooks" / "tiny.yml").rename(to / "playbooks" / "tiny.yml")

    monkeypatch.setattr(checkout, "_copy", edited)
    text = checkout.current()
    assert "echo two" in text.playbook("tiny.yml").read_text()
    assert [copy.name for copy in copies.iterdir()] == [text.hash]


def test_text_that_never_holds_still_is_refused(
    tiny: Tiny, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "_is_whole", lambda *_: False)
    with pytest.raises(Refused, match="try again"):
        checkout.current()
    assert list(copies.iterdir()) == []


def test_hundred_jobs_get_the_text_while_one_is_stuck_copying_it(
    tiny: Tiny, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, stuck, go = checkout._copy, threading.Event(), threading.Event()

    def slow(source: Path, to: Path) -> None:
        if threading.current_thread().name == "stuck":
            stuck.set()
            assert go.wait(60)
        inner(source, to)

    monkeypatch.setattr(checkout, "_copy", slow)
    found: list[checkout.Checkout] = []
    first = threading.Thread(target=lambda: found.append(checkout.current()), name="stuck")
    first.start()
    assert stuck.wait(60)
    others = [threading.Thread(target=lambda: found.append(checkout.current())) for _ in range(100)]
    for other in others:
        other.start()
    for other in others:
        other.join(60)
    assert len(found) == 100
    go.set()
    first.join(60)
    assert len(found) == 101
    assert len(set(found)) == 1, "they run from one copy"
    assert [copy.name for copy in copies.iterdir()] == [found[0].hash]


def test_old_copies_go_and_those_that_a_job_may_use_stay(
    tiny: Tiny, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = replace(playbooks.REGISTRY["tiny"], timeout=timedelta(days=3))
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", long)
    old = checkout.current().folder.parent
    (copies / f"{checkout.PENDING}1").mkdir()
    for place, days in ((old, 3.5), (copies / f"{checkout.PENDING}1", 1.5)):
        os.utime(place, (time.time() - days * 86_400,) * 2)
    checkout.remove_old()
    assert [copy.name for copy in copies.iterdir()] == [old.name]
    os.utime(old, (time.time() - 4.5 * 86_400,) * 2)
    checkout.remove_old()
    assert list(copies.iterdir()) == []


@pytest.mark.ansible
@pytest.mark.django_db(transaction=True)
def test_playbook_that_is_edited_while_a_job_runs_changes_nothing_in_it(
    tiny: Tiny, copies: Path, make_nodes: Nodes, queue: Queue, tmp_path: Path
) -> None:
    more = tiny.file.with_name("more.yml")
    more.write_text(MORE.format("as it was"), encoding="utf-8")
    tiny.says(GOES_ON)
    running = Running(queue(make_nodes(1)))
    assert processes.wait_until((tmp_path / "gpu-001.here").exists, 60)
    more.write_text(MORE.format("edited meanwhile"), encoding="utf-8")
    (tmp_path / "gpu-001.go").touch()
    assert running.end() == "succeeded"
    assert "as it was" in said(running.job)
    assert "edited meanwhile" not in said(running.job)
    assert running.job.playbook_hash != checkout.current().hash


@pytest.mark.ansible
@pytest.mark.django_db
def test_playbook_that_is_edited_while_a_job_waits_runs_as_it_is_at_the_start_and_the_ledger_says_which(
    tiny: Tiny, copies: Path, make_nodes: Nodes, queue: Queue
) -> None:
    before = checkout.current().hash
    job = queue(make_nodes(1))
    tiny.says("- name: Greet\n  ansible.builtin.command: echo mended")
    drain_queue()
    job.refresh_from_db()
    assert "mended" in str(job.events.values_list("data", "text"))
    started = Event.objects.get(name="job.started", subject=job.ref).payload
    assert started["playbook_hash"] == job.playbook_hash == checkout.current().hash != before
    assert started["inventory_hash"] == job.inventory_hash
    assert started["versions"] == job.versions
