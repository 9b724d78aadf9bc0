"""Which nodes do these hosts make, and what is wrong with them? Pure.

A variable that could make Ansible do something else than the portal means is refused by name. Other variables belong to
other tools and are left alone, but counted, so that a misspelt one is seen.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioning.fleet.sites import read_site

_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_PATH = re.compile(r"(/[A-Za-z0-9._@+-]{1,100}){1,20}")
_RACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/-]{0,59}")
_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}

ALLOWED_ANSIBLE = (
    "ansible_host",
    "ansible_user",
    "ansible_port",
    "ansible_connection",
    "ansible_python_interpreter",
)
_OWN = (
    "sku",
    "rack",
    "site",
    "gpu_count",
    "spare",
    "simulated",
    "node_root",
    "simulated_node_dir",
    "node_name",
)

_KNOWN = frozenset({*ALLOWED_ANSIBLE, *_OWN, "ansible_become"})


@dataclass(frozen=True, kw_only=True)
class Found:
    """A host and what the file says of it. `where` is for complaints: a line, or empty when it can't be told."""

    name: str
    told: Mapping[str, Any]
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """A node as the file wants it; names of fields are those of the model."""

    name: str
    address: str
    sku: str
    rack: str = ""
    site: str = ""
    connection: str = "ssh"
    ansible_user: str = ""
    ansible_port: int | None = None
    python_interpreter: str = ""
    node_root: str = ""
    simulated_node_dir: str = ""
    simulated: bool = False
    spare: bool = False


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """What is wrong with a host and what would do."""

    where: str
    host: str
    text: str

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.where, self.host[:80]) if part)
        return f"{place}: {self.text}" if place else self.text


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What a file makes. `ignored` counts hosts by variable that the portal has no use for."""

    rows: tuple[NodeRow, ...]
    complaints: tuple[Complaint, ...]
    ignored: Mapping[str, int] = field(default_factory=dict)


def rows_from(found: Iterable[Found], *, skus: Mapping[str, int]) -> Rows:
    """Rows and complaints; `skus` are GPUs per node by slug of the SKUs there are."""
    rows: list[NodeRow] = []
    complaints: list[Complaint] = []
    ignored: dict[str, int] = {}
    seen: dict[str, str] = {}
    for host in found:
        reader = _Host(host, skus)
        row = reader.row()
        if host.name in seen:
            reader.complain(f"this host is there twice{seen[host.name]}")
        seen[host.name] = f", first in {host.where}" if host.where else ""
        complaints += [
            Complaint(where=host.where, host=_shown(host.name), text=text) for text in reader.texts
        ]
        for name in reader.ignored:
            ignored[name] = ignored.get(name, 0) + 1
        if not reader.texts:
            rows.append(row)
    if not rows and not complaints:
        complaints.append(Complaint(where="", host="", text="the file names no host"))
    complaints += _shared_addresses(rows)
    return Rows(rows=tuple(rows), complaints=tuple(complaints), ignored=dict(sorted(ignored.items())))


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _shared_addresses(rows: Sequence[NodeRow]) -> list[Complaint]:
    """Two nodes that are the same machine would be given to two teams."""
    first: dict[tuple[str, int], str] = {}
    complaints = []
    for row in rows:
        if row.connection != "ssh":
            continue
        door = (row.address, row.ansible_port or 22)
        if door in first:
            text = f"{row.address} port {door[1]} is the address of {first[door]} too; give each its own"
            complaints.append(Complaint(where="", host=row.name, text=text))
        first.setdefault(door, row.name)
    return complaints


class _Host:
    """Reads one host's variables, collecting every complaint instead of stopping at the first."""

    def __init__(self, found: Found, skus: Mapping[str, int]) -> None:
        self.found = found
        self.skus = skus
        self.texts: list[str] = []
        self.ignored = [name for name in found.told if name not in _KNOWN]
        self._refuse_ansible()

    def complain(self, text: str) -> None:
        self.texts.append(text)

    def _refuse_ansible(self) -> None:
        for name in sorted(name for name in self.ignored if name.lower().startswith("ansible_")):
            self.complain(
                f"{_shown(name)[:60]} can't be set by an inventory; allowed are {', '.join(ALLOWED_ANSIBLE)}. "
                "Take it out of the file; keys and privileges are settings of the portal"
            )
        self.ignored = [name for name in self.ignored if not name.lower().startswith("ansible_")]

    def _portals_own(self, name: str, connection: str) -> None:
        """What the portal's own inventories say too; it is derived here, so it may only agree."""
        if self.found.told.get("node_name", name) != name:
            self.complain("node_name must be the host's own name; take it out of the file")
        become = self.found.told.get("ansible_become")
        if become is not None and become is not False:
            self.complain(
                "ansible_become can't be set by an inventory; the portal decides when it becomes root"
            )
        if become is False and connection != "simulated":
            self.complain("ansible_become=false would keep the portal from its work; take it out of the file")

    def row(self) -> NodeRow:
        name = self._name()
        connection = self._text("ansible_connection", _one_of("ssh", "simulated"), "ssh")
        self._portals_own(name, connection)
        simulated = self._flag("simulated", default=connection == "simulated")
        folder = self._text("simulated_node_dir", _path, "")
        if connection == "simulated" and not folder:
            self.complain("a simulated node needs simulated_node_dir, the folder that holds it")
        if connection == "simulated" and not simulated:
            self.complain("ansible_connection=simulated and simulated=false contradict each other")
        sku = self._sku()
        self._gpu_count(sku)
        return NodeRow(
            name=name,
            address=self._text("ansible_host", _address, name),
            sku=sku,
            rack=self._text("rack", _shaped(_RACK, "a rack's name"), ""),
            site=self._text("site", read_site, ""),
            connection=connection,
            ansible_user=self._text("ansible_user", _shaped(_USER, "a user's name"), ""),
            ansible_port=self._port(),
            python_interpreter=self._text("ansible_python_interpreter", _path, ""),
            node_root=self._text("node_root", _path, ""),
            simulated_node_dir=folder,
            simulated=simulated,
            spare=self._flag("spare", default=False),
        )

    def _name(self) -> str:
        name = self.found.name
        if _HOST.fullmatch(name) is None:
            lower = name.lower().replace("_", "-")
            hint = f"; {lower} would do" if _HOST.fullmatch(lower) else ""
            self.complain(f"not an RFC 1123 host name (small letters, digits, hyphens, dots){hint}")
        return name

    def _text(self, variable: str, read: Callable[[str], str], default: str) -> str:
        value = self.found.told.get(variable)
        if value is None or value == "":
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.complain(f"{variable} must be text")
            return default
        try:
            return read(str(value))
        except ValueError as problem:
            self.complain(f"{variable} {problem}")
            return default

    def _sku(self) -> str:
        known = ", ".join(sorted(self.skus))
        slug = self._text("sku", lambda text: text, "")
        if not slug:
            self.complain(f"sku is missing; known are {known}")
        elif slug not in self.skus:
            self.complain(f"there is no sku {slug[:40]!r}; known are {known}")
        return slug

    def _gpu_count(self, sku: str) -> None:
        told = self._whole("gpu_count", least=0, most=1024)
        if told is not None and sku in self.skus and told != self.skus[sku]:
            self.complain(
                f"gpu_count is {told}, but a node of {sku} has {self.skus[sku]}; correct one of them"
            )

    def _port(self) -> int | None:
        return self._whole("ansible_port", least=1, most=65535)

    def _whole(self, variable: str, *, least: int, most: int) -> int | None:
        value = self.found.told.get(variable)
        if value is None:
            return None
        text = str(value)
        if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,6}", text) or not least <= int(text) <= most:
            self.complain(f"{variable} must be a whole number from {least} to {most}")
            return None
        return int(text)

    def _flag(self, variable: str, *, default: bool) -> bool:
        value = self.found.told.get(variable)
        if value is None:
            return default
        text = str(value).strip().lower()
        if text not in _YES | _NO:
            self.complain(f"{variable} must be true or false")
        return text in _YES


def _shaped(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if pattern.fullmatch(text) is None:
            raise ValueError(f"{text[:60]!r} is not {what}")
        return text

    return read


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {' or '.join(words)}, not {text[:40]!r}")
        return text

    return read


def _path(text: str) -> str:
    if _PATH.fullmatch(text) is None or any(part in {".", ".."} for part in text.split("/")):
        raise ValueError(f"must be an absolute path without '..', not {text[:60]!r}")
    return text


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        if _HOST.fullmatch(text.lower()) is None or re.fullmatch(r"[0-9.]+", text):
            raise ValueError(f"{text[:60]!r} is neither an IP address nor a host name") from None
        return text.lower()
