"""What may processes use on this machine? Cores and memory, as the kernel and its control groups allow."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from provisioning.workers.sizing import Machine

MIB = 1024 * 1024
UNKNOWN_MIB = 2048
"""Assumed where a system tells nothing of its memory."""


def machine_name() -> str:
    """What workers and leases call this machine."""
    return socket.gethostname()[:80]


def this_machine(root: Path = Path("/")) -> Machine:
    """Cores and MiB of here and now; `root` is where /proc and /sys are."""
    told = _meminfo(root)
    memory = told.get("MemTotal", _physical())
    free = told.get("MemAvailable", memory)
    cores = float(_cores())
    for group in _groups(root):
        cores = min(cores, _cpu_limit(group) or cores)
        limit = _number(group / "memory.max")
        if limit is not None:
            memory = min(memory, limit // MIB)
            free = min(free, max(0, limit - _in_use(group)) // MIB)
    return Machine(cores=max(1, int(cores)), memory_mib=memory, free_mib=free)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _physical() -> int:
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    return UNKNOWN_MIB


def _meminfo(root: Path) -> dict[str, int]:
    """MiB by name; the file says kB."""
    found = {}
    with suppress(OSError):
        for line in (root / "proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition(":")
            number = rest.split()[:1]
            if number and number[0].isdecimal():
                found[name] = int(number[0]) // 1024
    return found


def _groups(root: Path) -> Iterator[Path]:
    """Our control group and those above it: each may set a limit. Version 2 alone; version 1 sets none here."""
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            if not line.startswith("0::/"):
                continue
            top = root / "sys/fs/cgroup"
            own = top / line.removeprefix("0::/")
            while own != top.parent and top in (own, *own.parents):
                yield own
                own = own.parent


def _cpu_limit(group: Path) -> float | None:
    """`200000 100000` is two cores; `max 100000` is no limit."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else max(1.0, int(quota) / int(period))
    return None


def _in_use(group: Path) -> int:
    """Bytes that would not be given up: the cache of files would."""
    used = _number(group / "memory.current") or 0
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "inactive_file":
                return max(0, used - int(value))
    return used


def _number(file: Path) -> int | None:
    with suppress(OSError):
        text = file.read_text(encoding="ascii").strip()
        return int(text) if text.isdecimal() else None
    return None
