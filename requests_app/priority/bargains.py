"""What could be given now instead of later? In a crunch the desk offers less: the largest asks of which a part would fit."""

from __future__ import annotations

from provisioning import interface
from requests_app.priority.crunch import Ask, offer_less
from requests_app.priority.queries import queue
from requests_app.quotas.models import Quota
from requests_app.tickets.models import Line, LineVerdict, LineWhat

LOOKED_AT = 200


def suggestions() -> list[Ask]:
    """The largest waiting lines of which a smaller grant would fit capacity and quota now, in five queries."""
    waiting = queue().order_by("rank_key", "pk").values("pk")[:LOOKED_AT]
    lines = Line.objects.filter(ticket__in=waiting, verdict=LineVerdict.PENDING).exclude(sku="")
    rows = list(lines.select_related("ticket").order_by("-asked_qty", "pk"))
    capacities = interface.capacities()
    quotas = {
        (quota.team_id, quota.sku): quota.room.left
        for quota in Quota.objects.filter(team__in={row.ticket.team_id for row in rows})
    }
    asks = []
    for row in rows:
        capacity = capacities.get(row.sku)
        if capacity is None:
            continue
        per_piece = capacity.gpus_per_node if row.what == LineWhat.NODES else 1
        nodes = capacity.most_at_once
        free = nodes if row.what == LineWhat.NODES else nodes * capacity.gpus_per_node
        left = quotas.get((row.ticket.team_id, row.sku), 0)
        room = free if left is None else min(free, left // per_piece)
        asks.append(
            Ask(
                ticket=row.ticket.ref,
                title=row.ticket.title,
                label=row.label,
                sku=row.sku,
                unit=row.unit,
                asked=row.asked_qty,
                room=max(0, room),
            )
        )
    return offer_less(asks)
