"""What is still there though nothing runs any more? Processes, folders, sockets, leases and files of secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from portal.embedded import processes
from provisioning.jobs import sweeper, workspace
from provisioning.jobs.child import MARK, NODE_MARK
from provisioning.jobs.models import NodeLease
from tests.chaos.faults import environment

KEEPER = "tests.chaos.keeper_app"


def all_of(home: Path, jobs_dir: Path) -> list[str]:
    """Sentences; empty is the goal."""
    sweeper.OLD_FOLDER = sweeper.OLD_LOOK = timedelta(0)  # as if it were ten minutes later
    sweeper.remove_old_folders()
    return [
        *(f"process {pid}: {words[:200]}" for pid, words in stray_processes(home)),
        *(f"folder {each.name}" for each in sorted(jobs_dir.glob("*")) if each.is_dir()),
        *(f"{each.name} of an attempt" for each in elsewhere(jobs_dir)),
        *(f"lease {lease}" for lease in NodeLease.objects.filter(released_at=None)),
    ]


def stray_processes(home: Path) -> Iterator[tuple[int, str]]:
    """Of an attempt or a look, here or on a node, and keepers of their children.

    Other campaigns and tests of this machine have marks too; theirs name another folder.
    """
    marks = {mark.encode() for mark in NodeLease.objects.values_list("mark", flat=True) if mark}
    place = os.fsencode(home)
    for entry in processes.PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        words = " ".join(processes.command_line(int(entry.name)))
        told = environment(int(entry.name))
        values = dict(each.partition(b"=")[::2] for each in told.split(b"\0"))
        mark = values.get(MARK.encode(), b"") or values.get(NODE_MARK.encode(), b"")
        is_ours = place in told or str(home) in words
        if mark in marks or (is_ours and (mark or KEEPER in words)):
            yield int(entry.name), words


def elsewhere(jobs_dir: Path) -> Iterator[Path]:
    """Folders of attempts that lie outside of theirs: credentials in memory, ssh's sockets under a short name."""
    for mark in NodeLease.objects.exclude(mark="").values_list("mark", flat=True).distinct():
        space = workspace.at(jobs_dir / mark)
        yield from (each for each in {space.secrets, space.control_dir} if each.exists())
