"""Which host keys did nodes show for the first time? Kept, so that no later job accepts another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction

from portal.accounts.access import Action
from portal.kernel.errors import NotAllowed
from portal.ledger.services import record
from provisioning.events import NODE_HOST_KEY_FORGOTTEN
from provisioning.fleet.models import Node
from provisioning.fleet.services import subject_of
from provisioning.jobs.models import Job, NodeHostKey

if TYPE_CHECKING:
    from portal.accounts.models import User

LONGEST_FILE = 1_000_000


def learn(job: Job, known_hosts: Path, nodes: Mapping[str, int]) -> int:
    """Keep the new keys in the attempt's known_hosts; how many there were. Keys are named by node, not by address."""
    try:
        with known_hosts.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST_FILE)
    except OSError:
        return 0
    rows = [
        NodeHostKey(node_id=nodes[name], key_type=kind[:60], key=key, learned_by=job)
        for name, kind, key in (line.split()[:3] for line in text.splitlines() if len(line.split()) >= 3)
        if name in nodes
    ]
    before = NodeHostKey.objects.filter(node__in=nodes.values()).count()
    NodeHostKey.objects.bulk_create(rows, ignore_conflicts=True)
    return NodeHostKey.objects.filter(node__in=nodes.values()).count() - before


@transaction.atomic
def forget(node: Node, *, by: User | None) -> int:
    """Accept at the next contact whatever key the node shows; an operator's, after a reinstall. How many keys it had."""
    if by is not None and not by.can(Action.OPERATE_FLEET):
        raise NotAllowed("Only operators may forget a host key.")
    count, _ = NodeHostKey.objects.filter(node=node).delete()
    if count:
        record(
            NODE_HOST_KEY_FORGOTTEN,
            subject=subject_of(node.name),
            payload={"node": node.name, "keys": count},
            by=by,
        )
    return count
