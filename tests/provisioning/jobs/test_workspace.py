"""An attempt's folder is its own, closed to others, and knows nothing of the worker's world."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.jobs import child, containment, workspace

MARK = "j12-1-0a0a0a0a"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fill(jobs: Path) -> workspace.Workspace:
    space = workspace.create(jobs, MARK, owner="a database")
    workspace.fill(
        space,
        inventory={"targets": {"hosts": {}}},
        variables={"word": "{{ x }}"},
        known_hosts=["gpu-001 ssh-ed25519 AAAA"],
        spec={"mark": MARK},
    )
    return space


@pytest.fixture
def space(tmp_path: Path) -> Iterator[workspace.Workspace]:
    made = fill(tmp_path / "jobs")
    yield made
    made.remove()


def test_folder_and_files_are_their_owners_alone(space: workspace.Workspace, tmp_path: Path) -> None:
    assert mode(tmp_path / "jobs") == 0o700
    for path in [space.folder, *space.folder.rglob("*")]:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_variables_are_data(space: workspace.Workspace) -> None:
    assert json.loads((space.folder / "vars.json").read_text()) == {"word": {"__ansible_unsafe": "{{ x }}"}}


def test_folder_is_never_used_twice(space: workspace.Workspace) -> None:
    with pytest.raises(FileExistsError):
        fill(space.folder.parent)


def test_folder_and_sockets_are_gone_afterwards(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    for home in (tmp_path / "jobs", deep):
        space = workspace.create(home, MARK, owner="x")
        assert len(os.fsencode(space.control_dir)) <= workspace.CONTROL_PATH_ROOM
        assert mode(space.control_dir) == 0o700
        space.remove()
        assert not space.folder.exists()
        assert not space.control_dir.exists()


def test_environment_holds_nothing_of_the_workers(
    space: workspace.Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTAL_SECRET_KEY", "x")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", "x")
    found = workspace.environment(space, mark=MARK, path="/bin", ansible_dir=tmp_path, mark_name=child.MARK)
    assert found[child.MARK] == MARK
    assert "PORTAL_SECRET_KEY" not in found
    assert "ANSIBLE_VAULT_PASSWORD_FILE" not in found


def test_spool_counts_what_it_can_not_write_and_never_raises(tmp_path: Path) -> None:
    spool = child.Spool(tmp_path / "events.spool")
    loop: dict[str, object] = {}
    loop["self"] = loop
    spool.append({"event": "first"})
    spool.append(loop)
    os.close(spool._descriptor)
    spool.append({"event": "nobody hears this"})
    assert spool.lost == 2
    spool.close({"rc": 0})


def test_line_after_a_torn_one_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = child.Spool(tmp_path / "events.spool")
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:5]) and _full())
    spool.append({"event": "torn"})
    monkeypatch.setattr(os, "write", whole)
    spool.append({"event": "whole"})
    lines = (tmp_path / "events.spool").read_text().splitlines()
    assert lines[-1] == '{"event": "whole"}'
    assert spool.lost == 1


def _full() -> int:
    raise OSError(28, "No space left on device")


def test_child_can_be_read_without_django_or_a_database() -> None:
    code = "import sys; import provisioning.jobs.child; sys.exit('django' in sys.modules or 'ansible_runner' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env={}, cwd=Path.cwd()).returncode == 0


def test_containment_says_what_it_is() -> None:
    assert containment.describe() in {
        "a pid namespace per attempt",
        "a pid namespace per attempt, in a user namespace",
        "a mark in the environment of every process",
    }
    if containment.prefix():
        inside = subprocess.run(
            [*containment.prefix(), "sh", "-c", "echo $$"], capture_output=True, text=True, check=True
        )
        assert inside.stdout.strip() == "1"


def test_folder_that_a_full_disk_kept_from_being_made_is_not_left_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(workspace, "write_private", full)
    with pytest.raises(OSError, match="No space left"):
        workspace.create(tmp_path / "jobs", "j1-1-0123abcd", owner="test")
    assert list((tmp_path / "jobs").iterdir()) == []
