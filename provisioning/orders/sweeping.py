"""Which orders wait for nothing, and which leases end soon? Found again and again, acted on once."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q

from portal.kernel.clock import now
from portal.kernel.units import say_span
from portal.ledger.services import record
from provisioning import events
from provisioning.fleet.models import Cluster
from provisioning.fleet.states import ClusterState
from provisioning.jobs.states import ENDED
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order, StepRun

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 100
WARN_DAYS = (7, 1, 0)
"""A lease is warned of so many days before its end; 0 when it has ended. Nothing is wiped by itself."""


def sweep() -> int:
    """Advance every order whose job has ended or that has none; returns how many moved."""
    waits = StepRun.objects.filter(order=OuterRef("pk"), ended_at=None).exclude(job__status__in=ENDED)
    stuck = Order.objects.unfinished().filter(~Exists(waits)).order_by("pk")
    moved = 0
    for order_id in stuck.values_list("pk", flat=True)[:MOST_AT_ONCE]:
        try:
            moved += advance(order_id=order_id)
        except Exception:  # noqa: BLE001 - one order that can't go on must not keep the others from it
            logger.exception("order O-%s can't go on", order_id)
    return moved


def warn_of_lease_ends() -> int:
    """Record `cluster.lease_ending` once per step of the ladder; returns how many warnings were given."""
    moment = now()
    given = 0
    for days in sorted(WARN_DAYS):
        due = Cluster.objects.filter(
            Q(lease_warned_days=None) | Q(lease_warned_days__gt=days),
            status=ClusterState.READY,
            lease_end__lte=moment + timedelta(days=days),
        )
        for cluster in due.select_related("team")[:MOST_AT_ONCE]:
            given += _warn(cluster, days)
    return given


def _warn(cluster: Cluster, days: int) -> bool:
    assert cluster.lease_end is not None
    claimed = Cluster.objects.filter(pk=cluster.pk, lease_warned_days=cluster.lease_warned_days)
    if claimed.update(lease_warned_days=days) == 0:
        return False
    left = cluster.lease_end - now()
    ended = left <= timedelta(0)
    record(
        events.LEASE_ENDING,
        subject=cluster.ref,
        payload={
            "cluster": cluster.ref,
            "team": cluster.team.slug,
            "lease_end": cluster.lease_end.isoformat(),
            "days": days,
            "ended": ended,
            "now": f"The lease of {cluster.ref} has ended; release it or ask for more time."
            if ended
            else f"The lease of {cluster.ref} ends in {say_span(left)}.",
        },
        by=None,
    )
    return True
