"""How does an order get its nodes when others want them too? Choose, lock, reserve; whoever is late chooses again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.errors import Conflict, Refused
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster, Node, Sku
from provisioning.fleet.queries import soonest_lease_end
from provisioning.fleet.services import reserve_nodes
from provisioning.orders.models import Order
from provisioning.orders.placement import Candidate, Choice, Shortfall, choose

QUICK_TRIES = 4
PATIENT_TRIES = 4


class _TakenMeanwhile(Exception):
    """Some of the chosen nodes are locked by, or went to, somebody else."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to look for: `count` nodes of `sku`, near racks first; `use_spares` for a replacement.

    `steady_only` takes none that is known to be slow; `site` is where the cluster's other nodes stand, None for a new one.
    """

    sku: Sku
    count: int
    near: tuple[str, ...] = ()
    use_spares: bool = False
    steady_only: bool = False
    site: str | None = None


def reserve(
    wanted: Wanted, *, order: Order, cluster: Cluster | None, by: User | None
) -> tuple[list[Node], Choice]:
    """Choose and reserve. Refused with the numbers and the nearest yes when there are too few, Conflict when it stays
    contended.

    The quick tries step around nodes that another transaction has locked, so nobody waits; the patient ones wait for
    that transaction's end, since it may give its nodes up.
    """
    avoided: frozenset[str] = frozenset()
    for number in range(QUICK_TRIES + PATIENT_TRIES):
        patient = number >= QUICK_TRIES
        choice = _choose(wanted, avoided if not patient else frozenset())
        if isinstance(choice, Shortfall):
            if patient or not avoided:
                raise _refusal(wanted, choice)
            continue
        try:
            return _take(choice, patient=patient, order=order, cluster=cluster, by=by), choice
        except _TakenMeanwhile as taken:
            avoided |= taken.names
    raise Conflict("Others are taking nodes at this very moment. Try again.", code="nodes-contended")


def _choose(wanted: Wanted, avoided: frozenset[str]) -> Choice | Shortfall:
    free = Node.objects.placeable().filter(sku=wanted.sku).exclude(name__in=avoided)
    candidates = [
        Candidate(
            name=name,
            rack=rack or "",
            site=site,
            speed=speed,
            spare=spare,
            degraded=verdict == VerdictValue.DEGRADED,
        )
        for name, rack, site, speed, spare, verdict in free.values_list(
            "name", "rack__name", "site", "speed", "spare", "verdict"
        )
    ]
    if wanted.steady_only:
        candidates = [one for one in candidates if not one.is_slow]
    return choose(
        candidates,
        wanted.count,
        spares_kept=wanted.sku.spares_kept,
        near=wanted.near,
        use_spares=wanted.use_spares,
        site=wanted.site,
    )


@transaction.atomic
def _take(
    choice: Choice, *, patient: bool, order: Order, cluster: Cluster | None, by: User | None
) -> list[Node]:
    """Lock the chosen and reserve them all, or leave this savepoint with none of them locked."""
    locked = list(
        Node.objects.placeable()
        .filter(name__in=choice.names)
        .select_for_update(skip_locked=not patient, of=("self",))
        .order_by("pk")
    )
    missing = frozenset(choice.names) - {node.name for node in locked}
    if missing:
        raise _TakenMeanwhile(missing)
    reserve_nodes(nodes=locked, order=order, cluster=cluster, by=by)
    return _in_order(locked, choice.names)


def _in_order(nodes: Iterable[Node], names: tuple[str, ...]) -> list[Node]:
    by_name = {node.name: node for node in nodes}
    return [by_name[name] for name in names]


def _refusal(wanted: Wanted, shortfall: Shortfall) -> Refused:
    soonest = soonest_lease_end(wanted.sku)
    later = f" The next lease ends on {soonest:%d %B %Y}." if soonest else ""
    return Refused(
        shortfall.say(wanted.sku.slug) + later,
        code="not-enough-nodes",
        data={
            "sku": wanted.sku.slug,
            "asked": shortfall.asked,
            "available": shortfall.available,
            "kept_back": shortfall.kept_back,
            "nearest_yes": shortfall.nearest_yes,
            "next_free_at": soonest.isoformat() if soonest else None,
        },
    )
