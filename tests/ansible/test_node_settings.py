"""Do services, kernel settings, kernel modules and files end up as told, and stay so on a second run?"""

from __future__ import annotations

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode


@pytest.fixture
def unit_node(tool_node: ToolNode) -> ToolNode:
    """A node whose folders `active` and `enabled` hold one file per unit."""
    (tool_node.folder / "active").mkdir()
    (tool_node.folder / "enabled").mkdir()
    tool_node.tool(
        "systemctl",
        """
case $1 in
  show) shift 3; for u in "$@"; do
      echo "Id=$u.service"
      [ -f "$D/active/$u" ] && echo ActiveState=active || echo ActiveState=inactive
      [ -f "$D/enabled/$u" ] && echo UnitFileState=enabled || echo UnitFileState=
      echo
    done ;;
  start|restart) [ -f "$D/broken" ] && { echo "Job for $2.service failed." >&2; exit 1; }; [ -f "$D/dies" ] || touch "$D/active/$2" ;;
  stop) rm -f "$D/active/$2" ;;
  enable) touch "$D/enabled/$2" ;;
  disable) rm -f "$D/enabled/$2" ;;
esac""",
    )
    return tool_node


CHRONY = [{"name": "chrony", "state": "started", "enabled": True}]


def test_service_is_started_and_enabled_once(unit_node: ToolNode) -> None:
    assert unit_node.run("node_service", services=CHRONY)["changes"] == ["enable chrony", "start chrony"]
    assert unit_node.run("node_service", services=CHRONY)["changed"] is False


def test_service_that_won_t_start_is_quoted(unit_node: ToolNode) -> None:
    (unit_node.folder / "broken").touch()

    with pytest.raises(ModuleFailed, match=r"Job for chrony.service failed.*journalctl -u chrony"):
        unit_node.run("node_service", services=CHRONY)


def test_service_that_dies_at_once_is_found_out(unit_node: ToolNode) -> None:
    (unit_node.folder / "dies").touch()

    with pytest.raises(ModuleFailed, match="chrony was told to start but is inactive after 1 s"):
        unit_node.run("node_service", services=CHRONY, settle=1)


def test_service_that_never_was_is_already_stopped(unit_node: ToolNode) -> None:
    assert (
        unit_node.run("node_service", services=[{"name": "slurmd", "state": "stopped", "enabled": False}])[
            "changed"
        ]
        is False
    )


def test_check_mode_starts_nothing(unit_node: ToolNode) -> None:
    assert unit_node.run("node_service", check=True, services=CHRONY)["changed"] is True
    assert list((unit_node.folder / "active").iterdir()) == []


@pytest.fixture
def kernel_node(tool_node: ToolNode) -> ToolNode:
    (tool_node.folder / "sysctl").mkdir()
    (tool_node.folder / "sysctl/vm.swappiness").write_text("60")
    (tool_node.folder / "sysctl/net.ipv4.tcp_rmem").write_text("4096\t131072\t6291456")
    tool_node.tool(
        "sysctl",
        """
case $1 in
  -w) key=${2%%=*}; [ -f "$D/sysctl/$key" ] || { echo "sysctl: cannot stat /proc/sys/$key" >&2; exit 255; }; echo "${2#*=}" > "$D/sysctl/$key" ;;
  *) for k in "$@"; do [ -f "$D/sysctl/$k" ] && echo "$k = $(cat "$D/sysctl/$k")"; done ;;
esac""",
    )
    (tool_node.folder / "modules").write_text("nvidia\n")
    tool_node.tool("lsmod", 'echo "Module Size Used by"; sed "s/$/ 16384 0/" "$D/modules"')
    tool_node.tool(
        "modprobe",
        """
[ "$1" = absent_one ] && { echo "modprobe: FATAL: Module absent_one not found." >&2; exit 1; }
echo "$1" | tr - _ >> "$D/modules" """,
    )
    return tool_node


def test_kernel_setting_holds_now_and_after_a_boot(kernel_node: ToolNode) -> None:
    wanted = {"vm.swappiness": 1, "net.ipv4.tcp_rmem": "4096 131072 6291456"}

    assert kernel_node.run("node_sysctl", settings=wanted)["changes"] == [
        "write /etc/sysctl.d/90-quartermaster.conf",
        "set vm.swappiness",
    ]
    assert "vm.swappiness = 1\n" in kernel_node.text("/etc/sysctl.d/90-quartermaster.conf")
    assert kernel_node.run("node_sysctl", settings=wanted)["changed"] is False


def test_kernel_that_lacks_a_setting_is_told(kernel_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match=r"cannot stat /proc/sys/kernel.nonsense.*take it out"):
        kernel_node.run("node_sysctl", settings={"kernel.nonsense": 1})


def test_kernel_module_is_loaded_now_and_after_a_boot(kernel_node: ToolNode) -> None:
    kernel_node.put("/sys/module/ib_core/refcnt", "1")

    result = kernel_node.run(
        "node_kernel_module", required=["ib-umad", "ib_core"], wanted=["absent_one", "nvidia"]
    )

    assert "load ib-umad" in result["changes"]
    assert result["missing"] == ["absent_one"]
    assert kernel_node.text("/etc/modules-load.d/quartermaster.conf").splitlines()[1:] == [
        "ib-umad",
        "ib_core",
        "nvidia",
    ]
    again = kernel_node.run(
        "node_kernel_module", required=["ib-umad", "ib_core"], wanted=["absent_one", "nvidia"]
    )
    assert again["changed"] is False


def test_kernel_module_that_must_load_and_can_t_is_quoted(kernel_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match=r"Module absent_one not found.*Install the package"):
        kernel_node.run("node_kernel_module", required=["absent_one"])


def test_block_leaves_the_rest_of_the_file_alone(tool_node: ToolNode) -> None:
    tool_node.put("/etc/hosts", "127.0.0.1 localhost\n")
    block = {"path": "/etc/hosts", "block": "cluster"}

    tool_node.run("node_files", files=[{**block, "content": "10.0.0.1 gpu-001\n"}])
    tool_node.put("/etc/hosts", tool_node.text("/etc/hosts") + "10.9.9.9 site\n")
    tool_node.run("node_files", files=[{**block, "content": "10.0.0.2 gpu-002\n"}])

    assert tool_node.text("/etc/hosts") == (
        "127.0.0.1 localhost\n# BEGIN quartermaster cluster\n10.0.0.2 gpu-002\n# END quartermaster cluster\n10.9.9.9 site\n"
    )
    tool_node.run("node_files", files=[{**block, "state": "absent"}])
    assert tool_node.text("/etc/hosts") == "127.0.0.1 localhost\n10.9.9.9 site\n"


def test_scratch_is_emptied_and_a_link_in_it_not_followed(tool_node: ToolNode) -> None:
    tool_node.put("/scratch/run1/data.bin", "x")
    kept = tool_node.put("/srv/kept.txt", "y")
    (tool_node.root / "scratch/link").symlink_to(kept.parent)

    tool_node.run("node_files", emptied=["/scratch", "/never-there"])

    assert list((tool_node.root / "scratch").iterdir()) == []
    assert kept.read_text() == "y"


def test_shared_scratch_is_never_emptied(tool_node: ToolNode) -> None:
    tool_node.put("/proc/self/mounts", "nas:/scratch /scratch nfs rw 0 0\n")
    tool_node.put("/scratch/theirs.bin", "x")

    with pytest.raises(ModuleFailed, match="/scratch is storage that other nodes see too"):
        tool_node.run("node_files", emptied=["/scratch"])
    assert tool_node.text("/scratch/theirs.bin") == "x"


def test_file_mode_is_kept_exact(tool_node: ToolNode) -> None:
    one = [{"path": "/opt/tool", "content": "#!/bin/sh\n", "mode": "0755"}]
    tool_node.run("node_files", files=one)
    (tool_node.root / "opt/tool").chmod(0o777)

    assert tool_node.run("node_files", files=one)["changed"] is True
    assert (tool_node.root / "opt/tool").stat().st_mode & 0o777 == 0o755
    assert tool_node.run("node_files", files=one)["changed"] is False
