"""What may be done to nodes and clusters, and how is it put on record?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, LostRace, Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster, Hold, Node, Reservation
from provisioning.fleet.states import NODE, ClusterState, NodeAction, NodeState

if TYPE_CHECKING:
    from provisioning.orders.models import Order


def subject_of(name: str) -> str:
    """A node's subject in the ledger."""
    return f"node:{name}"


OWN_HOLDS = ("validation", "provisioning")
HELD = (NodeState.RESERVED, NodeState.IN_USE, NodeState.DRAINING)
_TICK = timedelta(microseconds=1)


@transaction.atomic
def reserve_nodes(
    *,
    nodes: Iterable[Node],
    order: Order,
    cluster: Cluster | None,
    action: NodeAction = NodeAction.RESERVE,
    by: User | None,
) -> list[Reservation]:
    """Hold `nodes` for an order until they are given back. LostRace when one of them went to somebody else."""
    moment = now()
    made: list[Reservation] = []
    try:
        for node in sorted(nodes, key=lambda one: one.pk):
            move(node, action, machine=NODE)
            made.append(
                Reservation(node=node, cluster=cluster, order=order, period=DateTimeTZRange(moment, None))
            )
        with transaction.atomic():
            Reservation.objects.bulk_create(made)
    except IntegrityError as clash:
        raise LostRace("Somebody else got one of these nodes first.", data={"order": order.ref}) from clash
    return made


def end_reservations(*, nodes: Iterable[Node]) -> int:
    """Close the open reservations of `nodes`; returns how many there were."""
    moment = now()
    held = list(Reservation.objects.select_for_update().filter(node__in=list(nodes), released_at=None))
    for reservation in held:
        end = max(moment, reservation.period.lower + _TICK)
        reservation.released_at = end
        reservation.period = DateTimeTZRange(reservation.period.lower, end)
    Reservation.objects.bulk_update(held, ["released_at", "period"])
    return len(held)


@transaction.atomic
def unreserve_node(*, node: Node, by: User | None) -> None:
    """Back to the pool without a wipe: only for a node that nothing was done to yet."""
    move(node, NodeAction.UNRESERVE, machine=NODE)
    end_reservations(nodes=[node])
    _changed(node, "nothing was done to it yet", by)


@transaction.atomic
def give_back_node(*, node: Node, note: str, by: User | None) -> NodeState:
    """After wipe and re-validation: to the pool, or to quarantine while a hold is open. Says which it was."""
    held = node.holds.filter(closed_at=None).exists()
    move(
        node,
        NodeAction.QUARANTINE if held or node.needs_wipe else NodeAction.GIVE_BACK,
        machine=NODE,
    )
    end_reservations(nodes=[node])
    _changed(node, note, by)
    return NodeState(node.status)


@transaction.atomic
def quarantine_node(
    *,
    node: Node,
    reason_code: str,
    reason: str,
    evidence: Mapping[str, Any] | None = None,
    owner: str = "validation",
    by_its_order: bool = False,
    by: User | None,
) -> Hold:
    """Open a hold and take the node out of the pool.

    One that an order or a team holds stays where it is: its order replaces it at its next step, its team gives it back
    some day. Only `by_its_order` it goes at once. Opening the same hold twice changes nothing.
    """
    hold, fresh = Hold.objects.get_or_create(
        node=node,
        owner=owner,
        reason_code=reason_code,
        closed_at=None,
        defaults={"reason": reason, "evidence": dict(evidence or {}), "opened_by": by},
    )
    goes = NodeAction.QUARANTINE in NODE.actions(node.status)
    if goes and (by_its_order or node.status not in HELD):
        move(node, NodeAction.QUARANTINE, machine=NODE)
        end_reservations(nodes=[node])
    elif not fresh:
        return hold
    record(
        events.NODE_QUARANTINED,
        subject=subject_of(node.name),
        payload={
            "node": node.name,
            "status": node.status,
            "reason_code": reason_code,
            "reason": reason,
            "evidence": dict(evidence or {}),
            "owner": owner,
        },
        by=by,
    )
    return hold


@transaction.atomic
def close_hold(*, hold: Hold, note: str, by: User | None) -> None:
    """Say that the reason is gone. The node comes back through re-validation, never by closing its last hold."""
    changed = Hold.objects.filter(pk=hold.pk, closed_at=None).update(
        closed_at=now(), closed_by=by, closing_note=note
    )
    if changed == 0:
        raise LostRace("This hold is closed already.", data={"hold": hold.pk})
    hold.refresh_from_db()
    _changed(hold.node, f"hold closed: {note or hold.reason}", by)


def close_own_holds(*, node: Node, note: str, by: User | None) -> int:
    """Close what the portal itself opened, after the node proved fit; people's holds stay theirs."""
    return node.holds.filter(closed_at=None, owner__in=OWN_HOLDS).update(
        closed_at=now(), closed_by=by, closing_note=note
    )


@transaction.atomic
def move_node(*, node: Node, action: NodeAction, note: str, by: User | None) -> Node:
    """What an operator does to one node by hand: admit, repair, retire and the way back."""
    if action not in _BY_HAND:
        raise Refused(f"Nobody does {action!s} by hand; orders do.", code="not-by-hand")
    move(node, action, machine=NODE)
    _changed(node, note or str(action), by)
    return node


_BY_HAND = (
    NodeAction.ADMIT,
    NodeAction.REPAIR,
    NodeAction.END_REPAIR,
    NodeAction.RETIRE,
    NodeAction.REINSTATE,
)


def note_verdict(
    *,
    node: Node,
    verdict: VerdictValue,
    speed: float | None,
    at: datetime,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Keep the newest verdict on the node itself, where placement and lists read it without a join."""
    fields: dict[str, Any] = {"verdict": verdict.value, "verdict_at": at, "speed": speed}
    if facts is not None:
        fields["facts"] = dict(facts)
    newer = Node.objects.filter(pk=node.pk).exclude(verdict_at__gt=at)
    if newer.update(**fields):
        for name, value in fields.items():
            setattr(node, name, value)


def note_cluster_verdict(
    *,
    cluster: Cluster,
    verdict: VerdictValue,
    at: datetime,
    speed: float | None,
    slowest_node: str = "",
    gpu_hours_lost_per_day: float | None = None,
    busbw_gbps: float | None = None,
) -> None:
    """Keep the newest verdict on the cluster; a figure that was not measured is None."""
    fields = {
        "verdict": verdict.value,
        "verdict_at": at,
        "speed": speed,
        "slowest_node": slowest_node,
        "gpu_hours_lost_per_day": gpu_hours_lost_per_day,
        "busbw_gbps": busbw_gbps,
    }
    Cluster.objects.filter(pk=cluster.pk).update(**fields)
    for name, value in fields.items():
        setattr(cluster, name, value)


@transaction.atomic
def change_lease(*, cluster: Cluster, until: datetime | None, by: User | None) -> Cluster:
    """Let the lease of a ready cluster end at another time; None leaves it open. Warnings begin anew."""
    if cluster.status != ClusterState.READY:
        raise Refused(
            f"{cluster.ref} is {cluster.status}; only a ready cluster has a lease.", code="not-ready"
        )
    if until is not None and until <= now():
        raise Invalid({"until": ["Give a time in the future; to end it now, release the cluster."]})
    before = cluster.lease_end
    Cluster.objects.filter(pk=cluster.pk).update(lease_end=until, lease_warned_days=None)
    cluster.lease_end, cluster.lease_warned_days = until, None
    payload = {
        "cluster": cluster.ref,
        "before": before.isoformat() if before else None,
        "until": until.isoformat() if until else None,
        "now": f"The lease ends on {until:%d %B %Y}." if until else "The lease is open now.",
    }
    record(events.LEASE_CHANGED, subject=cluster.ref, payload=payload, by=by)
    return cluster


def _changed(node: Node, note: str, by: User | None) -> None:
    record(
        events.NODE_CHANGED,
        subject=subject_of(node.name),
        payload={"node": node.name, "status": node.status, "note": note},
        by=by,
    )
