"""What would an import change? Rows of a file against the nodes there are. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from provisioning.fleet.importer import Complaint, NodeRow
from provisioning.fleet.sites import racks_in_two, say_sites

LOCKED_WHILE_HELD = ("sku", "site", "address", "connection", "simulated_node_dir", "node_root")
"""What may not change under a team's feet."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A node that the portal has, and whether somebody holds it now."""

    row: NodeRow
    held: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """One field that would change."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, kw_only=True)
class Diff:
    """What an import would do. `missing` are nodes that the file doesn't name: they are told, never taken away."""

    added: tuple[NodeRow, ...]
    changed: Mapping[str, tuple[Change, ...]]
    unchanged: tuple[str, ...]
    missing: tuple[str, ...]
    complaints: tuple[Complaint, ...]


def compare(rows: Collection[NodeRow], known: Mapping[str, Known]) -> Diff:
    """Rows against what there is."""
    added, changed, unchanged = [], {}, []
    complaints: list[Complaint] = []
    named = set()
    for row in rows:
        named.add(row.name)
        if row.name not in known:
            added.append(row)
            continue
        changes = _changes(known[row.name].row, row)
        complaints += _locked(row.name, changes, held=known[row.name].held)
        if changes:
            changed[row.name] = changes
        else:
            unchanged.append(row.name)
    complaints += _torn_racks(rows, known)
    return Diff(
        added=tuple(added),
        changed=changed,
        unchanged=tuple(unchanged),
        missing=tuple(sorted(set(known) - named)),
        complaints=tuple(complaints),
    )


def _torn_racks(rows: Collection[NodeRow], known: Mapping[str, Known]) -> list[Complaint]:
    """After the import, with the nodes that the file doesn't name."""
    after = {name: one.row for name, one in known.items()} | {row.name: row for row in rows}
    torn = racks_in_two((row.rack, row.site, row.name) for row in after.values())
    return [
        Complaint(
            where="",
            host=second,
            text=f"rack {rack} would stand at {say_sites({after[first].site, after[second].site})} ({first} is in it "
            "too); give racks of different sites different names",
        )
        for rack, (first, second) in torn.items()
    ]


def _changes(old: NodeRow, new: NodeRow) -> tuple[Change, ...]:
    before, after = asdict(old), asdict(new)
    return tuple(
        Change(field=name, old=before[name], new=after[name]) for name in after if before[name] != after[name]
    )


def _locked(name: str, changes: Iterable[Change], *, held: bool) -> list[Complaint]:
    if not held:
        return []
    return [
        Complaint(
            where="",
            host=name,
            text=f"{change.field} can't change from {change.old!r} to {change.new!r} while an order or a team "
            "holds this node; release it first",
        )
        for change in changes
        if change.field in LOCKED_WHILE_HELD
    ]
