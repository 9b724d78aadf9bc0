"""What does an Xid of the NVIDIA driver ask of us? The answer is data, with its source and date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from provisioning.validation.finding import FindingLevel

PATH = Path(__file__).with_name("xid_catalogue.yaml")


@dataclass(frozen=True, kw_only=True)
class XidClass:
    """What codes of one kind mean for the node."""

    name: str
    level: FindingLevel
    action: str


@dataclass(frozen=True, kw_only=True)
class XidCatalogue:
    """Classes by code, and the three rules by which a line may say more than its number."""

    source: str
    version: str
    by_code: Mapping[int, XidClass]
    unknown: XidClass
    fatality_codes: frozenset[int]
    fatality_levels: Mapping[str, FindingLevel]
    recovery_codes: frozenset[int]
    alone_codes: frozenset[int]
    alone_level: FindingLevel

    def judge(self, code: int, *, fatality: str = "", recovery: str = "", alone: bool = False) -> XidClass:
        """The class of one event; `alone` says that no other Xid was logged since the boot."""
        found = self.by_code.get(code, self.unknown)
        level = found.level
        if code in self.fatality_codes:
            level = self.fatality_levels.get(fatality, level)
        if code in self.recovery_codes and recovery.strip().lower() == "none":
            level = FindingLevel.PASS
        if code in self.alone_codes and alone:
            level = self.alone_level
        return XidClass(name=found.name, level=level, action=found.action)


@cache
def xid_catalogue() -> XidCatalogue:
    """The catalogue that ships with the portal."""
    return catalogue_from(yaml.safe_load(PATH.read_text(encoding="utf-8")))


def catalogue_from(data: Mapping[str, Any]) -> XidCatalogue:
    """From parsed YAML. Raises ValueError where a code stands in two classes, KeyError where a key is missing."""
    by_code: dict[int, XidClass] = {}
    for name, told in data["classes"].items():
        made = XidClass(name=name, level=FindingLevel(told["level"]), action=told["action"])
        for code in _codes(told["codes"]):
            if code in by_code:
                raise ValueError(f"Xid {code} stands in {by_code[code].name} and in {name}")
            by_code[code] = made
    rules, unknown = data["rules"], data["unknown"]
    return XidCatalogue(
        source=data["source"],
        version=data["version"],
        by_code=MappingProxyType(by_code),
        unknown=XidClass(name="unknown", level=FindingLevel(unknown["level"]), action=unknown["action"]),
        fatality_codes=frozenset(_codes(rules["fatality"]["codes"])),
        fatality_levels=MappingProxyType(
            {word: FindingLevel(rules["fatality"][word]) for word in ("fatal", "nonfatal")}
        ),
        recovery_codes=frozenset(_codes(rules["recovery"]["codes"])),
        alone_codes=frozenset(_codes(rules["alone"]["codes"])),
        alone_level=FindingLevel(rules["alone"]["level"]),
    )


def _codes(listed: Iterable[int | str]) -> Iterable[int]:
    for one in listed:
        first, _, last = str(one).partition("-")
        yield from range(int(first), int(last or first) + 1)
