"""What has the kernel logged since this boot, as journalctl -k and dmesg print it?"""

from __future__ import annotations

import time

from provisioning.simulator import observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Line = tuple[float, str, str]  # Unix time, level, text


def lines(state: dict[str, Any]) -> list[Line]:
    """The boot's own lines, then what each fault made the kernel say (again after a reboot, when it is still there)."""
    start = float(state["boot"]["at"])
    found: list[Line] = [(start + offset, "info", text) for offset, text in _boot(state)]
    for entry in state["faults"].values():
        at = max(float(entry["at"]), start + 60.0)
        found += [(at + number * 0.004, "warn", text) for number, text in enumerate(entry["log"])]
    return sorted(found)


def _boot(state: dict[str, Any]) -> list[tuple[float, str]]:
    kernel, driver = state["kernel"]["running"], observed.driver_version(state)
    found = [
        (
            0.0,
            f"Linux version {kernel} (buildd@lcy02-amd64-080) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) #132-Ubuntu SMP",
        ),
        (0.0, f"Command line: BOOT_IMAGE=/boot/vmlinuz-{kernel} root=/dev/md0 ro iommu=pt"),
        (0.9, "DMAR: Intel(R) Virtualization Technology for Directed I/O"),
        (6.1, f"nvidia-nvlink: Nvlink Core is being initialized, major device number {234}"),
        (6.4, f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Aug 12 00:00:00 UTC 2025"),
    ]
    found += [
        (
            7.0 + number * 0.31,
            f"mlx5_core 0000:{nic['bus']}:00.0: firmware version: {state['hw']['hca']['fw']}",
        )
        for number, nic in enumerate(state["nics"])
    ]
    found += [
        (9.8 + number * 0.02, f"infiniband {nic['name']}: Port: 1 Link ACTIVE")
        for number, nic in enumerate(state["nics"])
    ]
    return [
        *found,
        (14.2, "EXT4-fs (md0): mounted filesystem with ordered data mode. Opts: (null). Quota mode: none."),
    ]


def _stamp(at: float, style: str) -> str:
    moment = time.gmtime(at)
    micro = int((at % 1) * 1_000_000)
    if style == "short-iso":
        return time.strftime("%Y-%m-%dT%H:%M:%S+0000", moment)
    if style == "short-iso-precise":
        return time.strftime("%Y-%m-%dT%H:%M:%S", moment) + f".{micro:06d}+0000"
    if style == "iso":
        return time.strftime("%Y-%m-%dT%H:%M:%S", moment) + f",{micro:06d}+00:00"
    if style == "ctime":
        return time.strftime("[%a %b %e %H:%M:%S %Y]", moment)
    return time.strftime("%b %d %H:%M:%S", moment)


def journalctl(call: Call) -> int:
    """journalctl -k [-b] [-o short-iso|short-iso-precise|short|cat] [--grep=…]; other journals are empty."""
    if not {"-k", "--dmesg"} & set(call.argv):
        call.out("-- No entries --\n")
        return 0
    style = call.argv[call.argv.index("-o") + 1] if "-o" in call.argv[:-1] else "short"
    style = next((word.split("=", 1)[1] for word in call.argv if word.startswith("--output=")), style)
    for at, _level, text in lines(call.state):
        call.out(
            f"{text}\n" if style == "cat" else f"{_stamp(at, style)} {call.state['name']} kernel: {text}\n"
        )
    return 0


def dmesg(call: Call) -> int:
    """dmesg [--time-format=iso] [--decode] [-T]"""
    boot = float(call.state["boot"]["at"])
    for at, level, text in lines(call.state):
        if any(word.endswith("iso") for word in call.argv):
            stamp = _stamp(at, "iso")
        elif "-T" in call.argv or "--ctime" in call.argv:
            stamp = _stamp(at, "ctime")
        else:
            stamp = f"[{at - boot:12.6f}]"
        decoded = f"kern  :{level:<6}: " if {"--decode", "-x"} & set(call.argv) else ""
        call.out(f"{decoded}{stamp} {text}\n")
    return 0
