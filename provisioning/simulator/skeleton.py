"""Which files does a node have, and what does its sysfs say about its network ports?"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from provisioning.simulator import observed

FOLDERS = (
    "boot",
    "dev/infiniband",
    "etc/apt/sources.list.d",
    "etc/modprobe.d",
    "etc/modules-load.d",
    "etc/nvidia-container-runtime",
    "etc/security/limits.d",
    "etc/slurm",
    "etc/ssh/sshd_config.d",
    "etc/sudoers.d",
    "etc/sysctl.d",
    "etc/systemd/system",
    "etc/chrony",
    "etc/docker",
    "etc/profile.d",
    "etc/udev/rules.d",
    "home",
    "lib/systemd/system",
    "mnt",
    "opt",
    "proc/sys/kernel/random",
    "root",
    "run",
    "scratch",
    "srv",
    "sys/class/infiniband",
    "tmp",
    "usr/local/bin",
    "usr/local/sbin",
    "usr/local/lib",
    "var/cache/apt",
    "var/lib/dpkg",
    "var/lib/quartermaster",
    "var/log",
    "var/spool/cron/crontabs",
    "var/tmp",
)
ACCOUNTS = """\
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
sshd:x:104:65534::/run/sshd:/usr/sbin/nologin
_chrony:x:110:116:Chrony daemon,,,:/var/lib/chrony:/usr/sbin/nologin
nvidia-persistenced:x:111:117:NVIDIA Persistence Daemon,,,:/nonexistent:/usr/sbin/nologin
slurm:x:64030:64030:SLURM,,,:/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUP = """\
root:x:0:
daemon:x:1:
adm:x:4:
sudo:x:27:
video:x:44:
render:x:109:
_chrony:x:116:
nvidia-persistenced:x:117:
docker:x:998:
slurm:x:64030:
nogroup:x:65534:
"""
FSTAB = """\
# <file system> <mount point> <type> <options> <dump> <pass>
/dev/md0 / ext4 defaults 0 1
/dev/nvme0n1p1 /boot/efi vfat umask=0077 0 1
"""
OS_RELEASE = """\
PRETTY_NAME="Ubuntu 22.04.5 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.5 LTS (Jammy Jellyfish)"
VERSION_CODENAME=jammy
ID=ubuntu
ID_LIKE=debian
"""
HW_COUNTERS = ("out_of_buffer", "out_of_sequence", "packet_seq_err", "local_ack_timeout_err")
ZERO_COUNTERS = (
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_discards",
)


def write_root(node_dir: Path, state: dict[str, Any]) -> None:
    """The node's file system on its first day; nothing that is there already is overwritten."""
    root = node_dir / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    name = state["name"]
    for path, text in {
        "etc/passwd": ACCOUNTS,
        "etc/group": GROUP,
        "etc/fstab": FSTAB,
        "etc/os-release": OS_RELEASE,
        "etc/shadow": "".join(
            f"{line.split(':')[0]}:*:19700:0:99999:7:::\n" for line in ACCOUNTS.splitlines()
        ),
        "etc/hostname": f"{name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}\n",
        "etc/machine-id": state["boot"]["id"].replace("-", "") + "\n",
        "etc/chrony/chrony.conf": "pool ntp.ubuntu.com iburst maxsources 4\ndriftfile /var/lib/chrony/chrony.drift\n",
        "etc/ssh/sshd_config": "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nPermitRootLogin prohibit-password\n",
        "etc/sudoers": "root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n",
    }.items():
        if not (root / path).exists():
            (root / path).write_text(text, encoding="utf-8")
    (root / "etc/shadow").chmod(0o640)
    (root / "tmp").chmod(0o1777)
    write_proc(node_dir, state)


def write_proc(node_dir: Path, state: dict[str, Any]) -> None:
    """The files below /proc that tell one boot and one driver from another."""
    proc = node_dir / "root" / "proc"
    _put(proc / "sys/kernel/random/boot_id", state["boot"]["id"] + "\n")
    _put(proc / "sys/kernel/osrelease", state["kernel"]["running"] + "\n")
    _put(
        proc / "cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{state['kernel']['running']} root=/dev/md0 ro iommu=pt\n"
    )
    if "nvidia" in state["modules"]:
        version = observed.driver_version(state)
        _put(
            proc / "driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Aug 12 00:00:00 UTC 2025\n",
        )


def write_sysfs(node_dir: Path, state: dict[str, Any]) -> None:
    """/sys/class/infiniband as the kernel would show it now; only what differs is written."""
    base = node_dir / "root" / "sys/class/infiniband"
    ports = observed.ports(state)
    for folder in base.glob("*"):
        if folder.name not in {port["name"] for port in ports}:
            shutil.rmtree(folder)
    for port in ports:
        for path, text in _port_files(state, port).items():
            _put(base / port["name"] / path, text + "\n")
    write_proc(node_dir, state)


def _port_files(state: dict[str, Any], port: dict[str, Any]) -> dict[str, str]:
    hca = state["hw"]["hca"]
    files = {
        "board_id": hca["board"],
        "fw_ver": hca["fw"],
        "hca_type": hca["type"],
        "ports/1/link_layer": "InfiniBand",
        "ports/1/rate": port["rate_text"],
        "ports/1/lid": f"{port['lid']:#x}",
        "ports/1/state": port["state_text"],
        "ports/1/phys_state": port["phys_text"],
        "ports/1/hw_counters/lifespan": "12",
    }
    traffic = port["traffic"]
    counters = {
        **dict.fromkeys(ZERO_COUNTERS, 0),
        "link_downed": port["link_downed"],
        "link_error_recovery": port["link_recovered"],
        "symbol_error": 0,
        "port_rcv_data": traffic,
        "port_xmit_data": traffic - traffic // 97,
        "port_xmit_wait": traffic // 9001,
        "port_rcv_packets": traffic // 1024,
        "port_xmit_packets": traffic // 1025,
    }
    files.update({f"ports/1/counters/{name}": str(value) for name, value in counters.items()})
    files.update({f"ports/1/hw_counters/{name}": "0" for name in HW_COUNTERS})
    return files


def _put(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
