"""Does node_package install, pin and remove what it is told, and nothing on a second run?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode

DRIVER = "nvidia-driver-550-server"


def pinned(version: str = "550.90.07") -> list[dict[str, Any]]:
    return [{"name": DRIVER, "version": version, "hold": True}]


def test_upstream_version_picks_the_debian_version_that_apt_offers(apt_node: ToolNode, offer: Any) -> None:
    offer(DRIVER, "550.120-0ubuntu0.22.04.1", "550.90.07-0ubuntu0.22.04.1")

    result = apt_node.run("node_package", packages=pinned())

    assert f"apt-get install -y -q {DRIVER}=550.90.07-0ubuntu0.22.04.1" in apt_node.log
    assert result["versions"] == {DRIVER: "550.90.07-0ubuntu0.22.04.1"}
    assert (apt_node.folder / "holds").read_text() == f"{DRIVER}\n"


def test_second_run_changes_nothing(apt_node: ToolNode, offer: Any) -> None:
    offer(DRIVER, "550.90.07-0ubuntu0.22.04.1")
    apt_node.run("node_package", packages=pinned(), names=["chrony"])
    apt_node.forget_log()

    result = apt_node.run("node_package", packages=pinned(), names=["chrony"])

    assert result["changed"] is False
    assert [line for line in apt_node.log if line.startswith("apt-get")] == []


def test_all_missing_packages_share_one_apt_call(apt_node: ToolNode) -> None:
    apt_node.run("node_package", names=["chrony", "jq", "numactl"])

    assert [line for line in apt_node.log if "install" in line] == ["apt-get install -y -q chrony jq numactl"]


def test_held_package_is_let_go_moved_and_held_again(apt_node: ToolNode, offer: Any) -> None:
    (apt_node.folder / "dpkg").write_text(f"{DRIVER} 550.120-1\n")
    (apt_node.folder / "holds").write_text(f"{DRIVER}\n")
    offer(DRIVER, "550.120-1", "550.90.07-1")

    apt_node.run("node_package", packages=pinned())

    moves = [line for line in apt_node.log if line.startswith(("apt-get", "apt-mark"))]
    assert moves == [
        "apt-mark showhold",
        f"apt-mark unhold {DRIVER}",
        f"apt-get install -y -q --allow-downgrades {DRIVER}=550.90.07-1",
        f"apt-mark hold {DRIVER}",
    ]


def test_version_apt_learns_by_an_update_is_installed(apt_node: ToolNode, offer: Any) -> None:
    offer(DRIVER, "550.54.15-1")
    offer(DRIVER, "550.90.07-1", "550.54.15-1", folder="fresh")

    assert apt_node.run("node_package", packages=pinned())["versions"] == {DRIVER: "550.90.07-1"}


def test_version_nobody_offers_is_refused_with_what_there_is(apt_node: ToolNode, offer: Any) -> None:
    offer(DRIVER, "550.120-1", "550.54.15-1")

    with pytest.raises(
        ModuleFailed,
        match=r"no nvidia-driver-550-server in version 550\.90\.07; it offers 550\.120-1, 550\.54\.15-1",
    ):
        apt_node.run("node_package", packages=pinned())


def test_apt_that_fails_is_quoted(apt_node: ToolNode) -> None:
    (apt_node.folder / "apt_fail").write_text(
        "E: Failed to fetch http://archive.example/chrony.deb  404  Not Found\n"
    )

    with pytest.raises(ModuleFailed, match=r"rc 100.*404  Not Found"):
        apt_node.run("node_package", names=["chrony"])


def test_apt_that_lies_is_found_out(apt_node: ToolNode) -> None:
    apt_node.tool("apt-get", "exit 0")

    with pytest.raises(ModuleFailed, match="said yes, but chrony is not installed"):
        apt_node.run("node_package", names=["chrony"])


def test_check_mode_tells_and_touches_nothing(apt_node: ToolNode) -> None:
    result = apt_node.run("node_package", check=True, packages=pinned())

    assert result["changed"] is True
    assert f"{DRIVER} 550.90.07" in result["diff"]["after"]
    assert not any(line.startswith(("apt-get", "apt-mark hold")) for line in apt_node.log)


@pytest.mark.parametrize("name", ["--allow-unauthenticated", "a b", "x;id", "../x", "{{ 7*7 }}", "a\nb", ""])
def test_name_that_is_no_package_never_reaches_apt(apt_node: ToolNode, name: str) -> None:
    with pytest.raises(ModuleFailed, match="no Debian package name"):
        apt_node.run("node_package", names=[name])
    assert apt_node.log == []


def test_driver_of_another_branch_makes_way(apt_node: ToolNode, offer: Any) -> None:
    (apt_node.folder / "dpkg").write_text(
        "nvidia-driver-535-server 535.183.06-1\nnvidia-driver-assistant 1-1\n"
    )
    (apt_node.folder / "holds").write_text("nvidia-driver-535-server\n")
    offer(DRIVER, "550.90.07-1")

    apt_node.run("node_package", packages=[{**pinned()[0], "replaces": "nvidia-driver-[0-9]+-server"}])

    moves = [line for line in apt_node.log if line.startswith("apt-get")]
    assert moves == [
        "apt-get remove -y -q nvidia-driver-535-server",
        f"apt-get install -y -q {DRIVER}=550.90.07-1",
    ]
    assert (apt_node.folder / "holds").read_text() == f"{DRIVER}\n"


def test_lock_of_another_apt_is_waited_for_and_then_told(apt_node: ToolNode) -> None:
    (apt_node.folder / "apt_fail").write_text(
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4211\n"
    )

    with pytest.raises(ModuleFailed, match="Could not get lock .* process 4211"):
        apt_node.run("node_package", names=["chrony"], lock_wait=3)
    assert len([line for line in apt_node.log if "install" in line]) == 2


def test_removal_takes_what_is_there_and_lets_go_of_holds(apt_node: ToolNode) -> None:
    (apt_node.folder / "dpkg").write_text("jq 1.6-1\n")
    (apt_node.folder / "holds").write_text("jq\n")

    assert apt_node.run("node_package", state="absent", names=["jq", "never-there"])["changed"] is True
    assert "apt-get remove -y -q jq" in apt_node.log
    assert apt_node.run("node_package", state="absent", names=["jq", "never-there"])["changed"] is False
