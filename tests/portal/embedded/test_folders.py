"""Does a folder that holds secrets end up ours and closed, and does every other one stay as it is?"""

import os
from pathlib import Path

import pytest

from portal.embedded import folders
from portal.embedded.errors import StartError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    folders.ensure_private(tmp_path / "run")

    assert mode(tmp_path / "run") == 0o700


def test_a_private_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o755)

    folders.ensure_private(tmp_path / "run")

    assert mode(tmp_path / "run") == 0o700


def test_a_link_in_the_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StartError, match="something else"):
        folders.ensure_private(tmp_path / "run")


@pytest.mark.parametrize("ensure", [folders.ensure_private, folders.ensure_var])
def test_a_folder_of_another_user_is_refused_and_the_message_names_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ensure: object
) -> None:
    (tmp_path / "var").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 77_777)

    with pytest.raises(StartError, match=f"belongs to {folders.user_name(tmp_path.stat().st_uid)}"):
        ensure(tmp_path / "var")  # type: ignore[operator]


def test_a_var_folder_that_a_person_made_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var").chmod(0o755)

    folders.ensure_var(tmp_path / "var")

    assert mode(tmp_path / "var") == 0o755


def test_no_parent_of_a_new_var_folder_is_opened_or_closed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)

    folders.ensure_var(tmp_path / "home" / "var")

    assert mode(tmp_path / "home") == 0o700
    assert mode(tmp_path / "home" / "var") == 0o700


def test_a_var_folder_that_cannot_be_made_is_said_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StartError, match="can't be made"):
        folders.ensure_var(tmp_path / "file" / "var")
