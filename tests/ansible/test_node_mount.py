"""Does node_mount mount exactly what the cluster has, keep the site's own entries, and refuse what would harm the node?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode

SITE = "/dev/md0 / ext4 defaults 0 1\n"


@pytest.fixture
def mount_node(tool_node: ToolNode) -> ToolNode:
    """A node whose `mounted` file lists what is mounted: path, source, type."""
    (tool_node.folder / "mounted").write_text("")
    tool_node.put("/etc/fstab", SITE)
    tool_node.tool(
        "findmnt",
        """
line=$(grep "^$2 " "$D/mounted") || exit 1
set -- $line
printf '{"filesystems": [{"target":"%s","source":"%s","fstype":"%s","options":"rw"}]}\\n' $1 $2 $3""",
    )
    tool_node.tool(
        "mount",
        """
[ -f "$D/mount_fail" ] && { cat "$D/mount_fail" >&2; exit 32; }
awk -v p="$1" '$2 == p {print $2, $1, $3}' "$D/root/etc/fstab" >> "$D/mounted" """,
    )
    tool_node.tool("umount", 'sed -i "\\|^$1 |d" "$D/mounted"')
    return tool_node


def data(**changes: Any) -> dict[str, Any]:
    return {
        "path": "/data",
        "source": "nas1:/export/vision",
        "fstype": "nfs4",
        "options": "rw,hard",
        **changes,
    }


def test_mount_is_made_now_and_for_the_next_boot(mount_node: ToolNode) -> None:
    mount_node.run("node_mount", mounts=[data()])

    assert (mount_node.folder / "mounted").read_text() == "/data nas1:/export/vision nfs4\n"
    assert mount_node.text("/etc/fstab") == (
        SITE
        + "# BEGIN quartermaster mounts\nnas1:/export/vision /data nfs4 rw,hard,nosuid,nodev 0 0\n# END quartermaster mounts\n"
    )
    assert (mount_node.root / "data").is_dir()


def test_second_run_changes_nothing(mount_node: ToolNode) -> None:
    mount_node.run("node_mount", mounts=[data()])

    assert mount_node.run("node_mount", mounts=[data()])["changed"] is False


def test_mount_that_is_no_longer_wanted_goes(mount_node: ToolNode) -> None:
    mount_node.run("node_mount", mounts=[data(), data(path="/old", source="nas1:/old")])

    mount_node.run("node_mount", mounts=[data()])

    assert (mount_node.folder / "mounted").read_text() == "/data nas1:/export/vision nfs4\n"
    assert "/old" not in mount_node.text("/etc/fstab")


def test_wipe_unmounts_all_and_keeps_the_entries_of_the_site(mount_node: ToolNode) -> None:
    mount_node.run("node_mount", mounts=[data()])

    mount_node.run("node_mount", mounts=[], state="absent")

    assert (mount_node.folder / "mounted").read_text() == ""
    assert mount_node.text("/etc/fstab") == SITE
    assert mount_node.run("node_mount", mounts=[], state="absent")["changed"] is False


def test_other_source_at_the_path_is_replaced(mount_node: ToolNode) -> None:
    (mount_node.folder / "mounted").write_text("/data nas9:/wrong nfs4\n")

    mount_node.run("node_mount", mounts=[data()])

    assert (mount_node.folder / "mounted").read_text() == "/data nas1:/export/vision nfs4\n"


def test_server_that_refuses_is_quoted(mount_node: ToolNode) -> None:
    (mount_node.folder / "mount_fail").write_text(
        "mount.nfs4: access denied by server while mounting nas1:/export/vision\n"
    )

    with pytest.raises(
        ModuleFailed, match=r"access denied by server.*Check that nas1:/export/vision is reachable"
    ):
        mount_node.run("node_mount", mounts=[data()])


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/data\n/dev/sdb /boot"},
        {"path": "data"},
        {"path": "/"},
        {"path": "/etc"},
        {"path": "/usr/local"},
        {"path": "/data/../etc"},
        {"path": "/my data"},
        {"path": "{{ lookup('pipe','touch PWNED') }}"},
        {"source": "nas1:/x\nevil"},
        {"source": "nas1:/a b"},
        {"source": "-o suid"},
        {"source": ""},
        {"options": "rw suid"},
        {"options": "rw\n"},
    ],
)
def test_mount_that_could_harm_the_node_is_refused(mount_node: ToolNode, change: dict[str, str]) -> None:
    with pytest.raises(ModuleFailed, match="a storage mount is refused"):
        mount_node.run("node_mount", mounts=[data(**change)])
    assert mount_node.text("/etc/fstab") == SITE


def test_path_of_the_site_is_not_taken_over(mount_node: ToolNode) -> None:
    mount_node.put("/etc/fstab", SITE + "nas0:/data /data nfs defaults 0 0\n")

    with pytest.raises(ModuleFailed, match="already has an entry of the site for /data"):
        mount_node.run("node_mount", mounts=[data()])


def test_check_mode_mounts_nothing(mount_node: ToolNode) -> None:
    assert mount_node.run("node_mount", check=True, mounts=[data()])["changed"] is True

    assert mount_node.text("/etc/fstab") == SITE
    assert not any(line.startswith("mount") for line in mount_node.log)
