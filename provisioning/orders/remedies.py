"""What can be put on a cluster's nodes for a while? A short closed list; each can be taken off again and says how it may be set.

The module that runs on the node checks the same once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from provisioning.contracts import RemedyView

MOST_SETTINGS = 20
_NUMBERS = re.compile(r"[0-9]{1,12}( [0-9]{1,12}){0,3}")
_NCCL_VALUE = re.compile(r"[A-Za-z0-9_.,:=^/-]{1,200}")


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One of the list: how its settings may be called, and which value each may have."""

    name: str
    title: str
    says: str
    example: str
    names: re.Pattern[str]
    values: Mapping[str, re.Pattern[str]]
    needs: frozenset[str] = frozenset()

    def value_of(self, name: str) -> re.Pattern[str]:
        """The pattern of a setting's value; the empty name stands for all others."""
        return self.values.get(name, self.values.get("", _NUMBERS))


REMEDIES: Mapping[str, Remedy] = {
    remedy.name: remedy
    for remedy in (
        Remedy(
            name="nccl-env",
            title="NCCL settings",
            says="Lines in /etc/nccl.conf that every NCCL job on the nodes reads.",
            example="NCCL_IB_HCA=^mlx5_3\nNCCL_P2P_LEVEL=NVL",
            names=re.compile(r"NCCL_[A-Z0-9_]{1,60}"),
            values={"": _NCCL_VALUE},
        ),
        Remedy(
            name="sysctl",
            title="Kernel settings",
            says="Kernel settings, now and after a boot; what they were before is restored.",
            example="net.core.somaxconn=4096",
            names=re.compile(r"(vm|fs|net\.core|net\.ipv4|kernel\.numa_balancing)(\.[a-z0-9_]{1,60}){0,4}"),
            values={"": _NUMBERS},
        ),
        Remedy(
            name="scratch-mount",
            title="Scratch space in memory",
            says="A file system in the nodes' memory with a fixed size; what is on it is gone at its end.",
            example="path=/scratch-fast\nsize_gib=64",
            names=re.compile(r"path|size_gib"),
            values={
                "path": re.compile(r"/scratch-[a-z0-9-]{1,40}"),
                "size_gib": re.compile(r"[1-9][0-9]{0,3}"),
            },
            needs=frozenset({"path", "size_gib"}),
        ),
        Remedy(
            name="clock-lock",
            title="Locked GPU clocks",
            says="Graphics clocks of every GPU within bounds, in MHz; a boot lifts them.",
            example="min_mhz=1200\nmax_mhz=1500",
            names=re.compile(r"min_mhz|max_mhz"),
            values={"": re.compile(r"[1-9][0-9]{2,3}")},
            needs=frozenset({"min_mhz", "max_mhz"}),
        ),
    )
}


def views() -> tuple[RemedyView, ...]:
    """The list as other houses see it."""
    return tuple(
        RemedyView(name=one.name, title=one.title, says=one.says, example=one.example)
        for one in REMEDIES.values()
    )


def complaints_about(name: str, settings: Mapping[str, str]) -> dict[str, list[str]]:
    """What is wrong, by `remedy` and `settings`; empty when nothing is."""
    remedy = REMEDIES.get(name)
    if remedy is None:
        return {"remedy": [f"Choose one of: {', '.join(REMEDIES)}."]}
    found = [f"Missing: {missing}." for missing in sorted(remedy.needs - set(settings))]
    if not 1 <= len(settings) <= MOST_SETTINGS:
        found.append(f"From 1 to {MOST_SETTINGS} settings.")
    for key, value in settings.items():
        if not remedy.names.fullmatch(key):
            found.append(f"{remedy.title} know no {key[:60]!r}.")
        elif not remedy.value_of(key).fullmatch(value):
            found.append(f"{value[:60]!r} is no value of {key}.")
    if name == "clock-lock" and not found and int(settings["min_mhz"]) > int(settings["max_mhz"]):
        found.append("min_mhz is above max_mhz.")
    return {"settings": found} if found else {}
