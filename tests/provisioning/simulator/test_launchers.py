"""Is a node's PATH a world of its own, from which no real tool of this machine can be called?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from provisioning.simulator import fleet, launchers, standin
from provisioning.simulator.tools import TOOLS
from tests.provisioning.simulator.conftest import SimNode

SLOW_TO_IMPORT = {
    "pathlib",
    "typing",
    "shutil",
    "dataclasses",
    "subprocess",
    "yaml",
    "urllib.parse",
    "logging",
    "inspect",
    "datetime",
    "random",
}
IMPORT_ALL = """
import sys
sys.path.insert(0, sys.argv[1])
from provisioning.simulator import standin
for place in standin.TOOLS.values():
    __import__("provisioning.simulator.tools." + place.split(":")[0])
print(*sys.modules)
"""
ACTS_ON_THE_MACHINE = {
    "mount",
    "umount",
    "systemctl",
    "service",
    "init",
    "reboot",
    "shutdown",
    "poweroff",
    "halt",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "apt",
    "apt-get",
    "dpkg",
    "modprobe",
    "rmmod",
    "insmod",
    "sysctl",
    "ip",
    "iptables",
    "mkfs",
    "fdisk",
    "kill",
    "killall",
    "pkill",
    "su",
    "chroot",
    "ssh",
    "scp",
    "curl",
    "wget",
    "crontab",
    "at",
}


def test_nothing_harmless_acts_on_the_machine() -> None:
    assert set(launchers.HARMLESS).isdisjoint(ACTS_ON_THE_MACHINE)
    assert set(launchers.HARMLESS).isdisjoint(TOOLS)


def test_the_path_holds_stand_ins_and_harmless_tools_only(healthy: SimNode) -> None:
    own, shared = (Path(part) for part in launchers.search_path(healthy.folder).split(os.pathsep))

    assert {entry.name for entry in own.iterdir()} == {*TOOLS, ".launch", "sudo"}
    assert {entry.name for entry in shared.iterdir()} <= set(launchers.HARMLESS)


@pytest.mark.parametrize("tool", ["ip", "curl", "killall", "mkfs", "fdisk"])
def test_a_tool_without_a_stand_in_is_not_found(healthy: SimNode, tool: str) -> None:
    assert healthy.run(tool).rc == 127


def test_a_missing_tool_does_not_fall_through_to_the_real_one(sim: SimNode) -> None:
    sim.inject("tool-missing", tool="mount")

    assert sim.run("mount").rc == 127
    sim.clear()
    assert sim.run("mount").rc == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--",),
        ("-x", "-y=z"),
        ("--help",),
        ("", ""),
        ("show",),
        ("update", "a=b"),
        ("-t",),
        ("-o",),
        ("install", "--"),
        ("-r", "x"),
        ("\udcff",),
        ("-b", "1K", "-e", "2K"),
        ("*",),
    ],
)
def test_tools_survive_nonsense(sim: SimNode, words: tuple[str, ...]) -> None:
    for tool in TOOLS:
        sim.ask(tool, *words)

    assert sim.state["name"] == "gpu-001"


def test_sudo_changes_nothing(healthy: SimNode) -> None:
    assert healthy.run("sudo -H -S -n -u root LANG=C /bin/sh -c 'echo $LANG; whoami'").out == "C\nroot\n"


def test_launcher_works_through_a_path_with_blanks(tmp_path: Path) -> None:
    made = SimNode(fleet.create(tmp_path / "my fleet", count=1, sku="h100-sxm5-80g", seed=1)[0])

    assert made.run("uname -n").out == "gpu-001\n"


def test_stand_ins_import_nothing_slow() -> None:
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(Path(standin.__file__).parents[2])],
        capture_output=True,
        text=True,
        check=True,
    )

    assert SLOW_TO_IMPORT & set(loaded.stdout.split()) == set()


def test_install_takes_away_what_is_no_stand_in_any_more(sim: SimNode) -> None:
    (sim.folder / "bin" / "old-tool").symlink_to(launchers.LAUNCHER)

    launchers.install(sim.folder)

    assert not (sim.folder / "bin" / "old-tool").is_symlink()


def test_no_write_leaves_the_node(trio: list[SimNode], tmp_path: Path) -> None:
    """All tools that write, with the paths they would use on a real node; only this node's own files may change."""
    first, others = trio[0], trio[1:]
    (first.root / "mnt/data").mkdir()
    (first.root / "etc/fstab").write_text("filer:/x /mnt/data nfs defaults 0 0\n")

    def outside() -> dict[str, tuple[int, int]]:
        files = [
            path for folder in [tmp_path, *(other.folder for other in others)] for path in folder.rglob("*")
        ]
        return {
            str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in files
            if first.folder != path and first.folder not in path.parents and path.is_file()
        }

    before = outside()
    for command in (
        "useradd -m -s /bin/bash ana",
        "usermod -d /../../../tmp/qm-out ana",
        "userdel -r ana",
        "groupadd team",
        "groupdel team",
        "mount /mnt/data",
        "umount /mnt/data",
        "modprobe ib_umad",
        "sysctl -w vm.swappiness=1",
        "apt-get install -y nvidia-driver-570-server",
        "systemctl stop chrony",
        "scontrol create NodeName=gpu-001 State=FUTURE",
        "scontrol update NodeName=gpu-001 State=RESUME",
        "nvidia-ctk cdi generate --output=/../../../../../../tmp/qm-out",
        "apt-get install -y nvidia-container-toolkit",
        "nvidia-ctk cdi generate --output=/../../../../../../tmp/qm-out",
        "gpu-gemm",
        "gpu_stream",
        "nvbandwidth",
        "all_reduce_perf -b 1G -e 2G -g 8",
        "mpirun -H gpu-001:8,gpu-002:8 all_reduce_perf -b 1G -e 2G -g 1",
        "reboot",
    ):
        first.ask(*command.split())
    first.run("gpu-gemm")

    assert outside() == before
    assert not Path("/tmp/qm-out").exists()
    assert (first.root / "tmp/qm-out").exists()
