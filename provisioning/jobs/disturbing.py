"""Would a run disturb somebody? Nodes that are reserved for a team, in its use, or on their way back are not the operators' own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Prefetch, Q

from portal.kernel.errors import Refused
from portal.kernel.units import say_some
from provisioning.fleet.models import Node, Reservation
from provisioning.fleet.states import NodeState
from provisioning.jobs.playbooks import Playbook

HELD = (NodeState.RESERVED, NodeState.IN_USE, NodeState.DRAINING)
NAMED = 10
"""So many nodes are named in a sentence; the data has all of them."""


def check_disturbs_nobody(book: Playbook, variables: Mapping[str, Any], nodes: Collection[int]) -> None:
    """Refused, with every such node in its data, when somebody uses some of `nodes` and this run is not harmless to them."""
    if book.is_harmless(variables):
        return
    used = in_use(nodes)
    if not used:
        return
    names = list(used)
    shown = say_some([f"{name} ({who})" for name, who in used.items()], most=NAMED)
    verb = "is" if len(names) == 1 else "are"
    hint = f" {book.harmless_when}" if book.harmless_when else ""
    raise Refused(
        f"{shown} {verb} in somebody's use, and “{book.title}” would disturb them. Leave them out.{hint}",
        code="nodes-in-use",
        data={"nodes": names},
    )


def in_use(nodes: Collection[int]) -> dict[str, str]:
    """Names of those among `nodes` that are not the operators' own, in order, and who has them."""
    held = Reservation.objects.filter(released_at=None).select_related("cluster__team", "order__team")
    found = (
        Node.objects.filter(pk__in=nodes)
        .filter(Q(status__in=HELD) | Q(reservations__released_at=None, reservations__isnull=False))
        .prefetch_related(Prefetch("reservations", queryset=held, to_attr="held_now"))
        .distinct()
        .order_by("name")
    )
    return {node.name: _who(node) for node in found}


def _who(node: Node) -> str:
    held: list[Reservation] = vars(node)["held_now"]
    for one in held:
        if one.cluster is not None:
            return f"{one.cluster.ref} of {one.cluster.team.slug}"
        return f"held by {one.order.ref}"
    return node.status.replace("_", " ")
