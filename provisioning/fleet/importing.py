"""How does a file become the fleet? All of it or nothing, and twice is once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.fleet.comparing import Diff, Known, compare
from provisioning.fleet.importer import Complaint, NodeRow, Rows, rows_from
from provisioning.fleet.inventory import Format, read_file
from provisioning.fleet.models import Node, Rack, Sku
from provisioning.fleet.services import HELD
from provisioning.fleet.sku_data import Sku as SkuData
from provisioning.fleet.sku_data import known_skus
from provisioning.fleet.states import NODE, NodeAction


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """What an import did, or would do. With complaints nothing was done."""

    diff: Diff
    complaints: tuple[Complaint, ...]
    ignored: dict[str, int]
    applied: bool


@transaction.atomic
def load_skus() -> int:
    """Take the SKU files into rows; returns how many changed. What people set on a row stays."""
    hashes = dict(Sku.objects.values_list("slug", "content_hash"))
    changed = 0
    for slug, sku in known_skus().items():
        data = _plain(sku)
        content = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        if hashes.get(slug) == content:
            continue
        Sku.objects.update_or_create(
            slug=slug,
            defaults={
                "name": sku.name,
                "gpu_model": sku.gpu_model,
                "gpus_per_node": sku.gpu_count,
                "memory_mib": sku.memory_mib,
                "driver_version": sku.driver,
                "data": data,
                "content_hash": content,
                "loaded_at": now(),
            },
        )
        changed += 1
    return changed


def _plain(sku: SkuData) -> dict[str, Any]:
    return asdict(replace(sku, expected=dict(sku.expected)))


@transaction.atomic
def import_fleet(
    *,
    path: Path,
    wanted: Format | None = None,
    dry_run: bool = False,
    admit: bool = True,
    by: User | None,
) -> ImportResult:
    """Read `path` and make the fleet so, unless something in it is wrong. Raises Refused for a file that can't be read.

    New nodes are admitted to the pool at once, because every build validates each node before anybody gets it; with
    `admit` False they stay registered until an operator admits them. Nodes that the file doesn't name stay as they are.
    """
    load_skus()
    found = rows_from(
        read_file(path, wanted=wanted), skus=dict(Sku.objects.values_list("slug", "gpus_per_node"))
    )
    nodes = {
        node.name: node for node in Node.objects.select_for_update(of=("self",)).select_related("sku", "rack")
    }
    diff = compare(found.rows, {name: _known(node) for name, node in nodes.items()})
    complaints = (*found.complaints, *diff.complaints)
    applied = not complaints and not dry_run
    if applied and (diff.added or diff.changed):
        _apply(diff, nodes, admit=admit, by=by)
    return _result(diff, complaints, found, applied=applied)


def _result(diff: Diff, complaints: tuple[Complaint, ...], found: Rows, *, applied: bool) -> ImportResult:
    return ImportResult(diff=diff, complaints=complaints, ignored=dict(found.ignored), applied=applied)


def _known(node: Node) -> Known:
    row = NodeRow(
        name=node.name,
        address=node.address,
        sku=node.sku.slug,
        rack=node.rack.name if node.rack else "",
        site=node.site,
        connection=node.connection,
        ansible_user=node.ansible_user,
        ansible_port=node.ansible_port,
        python_interpreter=node.python_interpreter,
        node_root=node.node_root,
        simulated_node_dir=node.simulated_node_dir,
        simulated=node.simulated,
        spare=node.spare,
    )
    return Known(row=row, held=node.status in HELD)


def _apply(diff: Diff, nodes: dict[str, Node], *, admit: bool, by: User | None) -> None:
    rows = {row.name: row for row in diff.added}
    skus = {sku.slug: sku for sku in Sku.objects.all()}
    racks = _racks(
        {row.rack for row in diff.added}
        | {change.new for changes in diff.changed.values() for change in changes if change.field == "rack"}
    )
    made = Node.objects.bulk_create(
        Node(**_columns(asdict(row), skus, racks), status=NODE.initial) for row in rows.values()
    )
    if admit:
        for node in made:
            move(node, NodeAction.ADMIT, machine=NODE)
    for name, changes in diff.changed.items():
        columns = _columns({change.field: change.new for change in changes}, skus, racks)
        Node.objects.filter(pk=nodes[name].pk).update(**columns)
    record(
        events.FLEET_IMPORTED,
        subject="fleet",
        payload={
            "added": [row.name for row in diff.added],
            "changed": {
                name: [asdict(change) for change in changes] for name, changes in diff.changed.items()
            },
            "unchanged": len(diff.unchanged),
            "missing": list(diff.missing),
        },
        by=by,
    )


def _racks(names: set[str]) -> dict[str, Rack]:
    Rack.objects.bulk_create([Rack(name=name) for name in sorted(names) if name], ignore_conflicts=True)
    return {rack.name: rack for rack in Rack.objects.filter(name__in=names)}


def _columns(fields: dict[str, Any], skus: dict[str, Sku], racks: dict[str, Rack]) -> dict[str, Any]:
    columns = dict(fields)
    if "sku" in columns:
        columns["sku"] = skus[columns["sku"]]
    if "rack" in columns:
        columns["rack"] = racks.get(columns["rack"])
    return columns
