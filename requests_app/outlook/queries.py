"""What is known about a ticket's near future? History of its offering, free nodes, quota, the block, and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from portal.kernel.clock import now
from provisioning import interface
from provisioning.contracts import SkuView
from requests_app.blocks.models import BlockPerson
from requests_app.clocks.models import ClockSummary
from requests_app.clocks.percentiles import spread
from requests_app.outlook import rules
from requests_app.quotas.models import Quota
from requests_app.tickets.models import Line, LineWhat, Ticket
from requests_app.tickets.states import TicketState
from requests_app.workarounds.queries import residual_of

NEWEST = 200
_NOTHING = frozenset({TicketState.DECLINED, TicketState.WITHDRAWN, TicketState.MERGED})


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """When, what meanwhile, and what it costs; each may have nothing to say."""

    when: rules.When | None
    meanwhile: tuple[rules.Tip, ...]
    costs: tuple[tuple[str, rules.Cost], ...]
    offering: str


def outlook_of(ticket: Ticket) -> Outlook:
    """The outlook of a ticket; whoever calls has checked that the reader may see it."""
    at = now()
    lines = list(ticket.lines.all())
    skus = {view.slug: view for view in interface.skus()} if any(line.sku for line in lines) else {}
    facts = _facts(ticket, lines, skus, at)
    return Outlook(
        when=rules.when(facts),
        meanwhile=rules.meanwhile(facts),
        costs=_costs(ticket, lines, skus, at),
        offering=ticket.offering_version.offering.slug,
    )


def history_of(offering_id: int) -> rules.History:
    """The newest deliveries of an offering, whatever its version."""
    took = (
        ClockSummary.objects.filter(offering=offering_id, delivered_at__isnull=False)
        .order_by("-delivered_at")
        .values_list("delivery_seconds", flat=True)[:NEWEST]
    )
    found = spread([float(seconds) for seconds in took if seconds is not None])
    return rules.History(n=found.n, p50=found.p50, p90=found.p90)


def _facts(ticket: Ticket, lines: Sequence[Line], skus: dict[str, SkuView], at: datetime) -> rules.Facts:
    nodes = next((line for line in lines if line.what == LineWhat.NODES and line.sku in skus), None)
    asked = rules.Facts(
        state=ticket.status,
        at=at,
        submitted_at=ticket.submitted_at,
        paused=timedelta(seconds=ticket.paused_seconds),
        lead_time=ticket.offering_version.lead_time,
        history=history_of(ticket.offering_version.offering_id),
        promised_on=max((line.promised_on for line in lines if line.promised_on), default=None),
        blocked=ticket.is_blocking,
        claimed_people=ticket.blocked_people,
        confirmed_people=_confirmed(ticket),
        has_workaround=ticket.is_blocking and residual_of(ticket, at) < 1.0,
    )
    return asked if nodes is None else _with_room(asked, ticket, nodes, skus)


def _with_room(facts: rules.Facts, ticket: Ticket, line: Line, skus: dict[str, SkuView]) -> rules.Facts:
    """The same with what is free and what the quota allows, here and of other kinds."""
    capacities = interface.capacities()
    rooms = {row.sku: row.room for row in Quota.objects.filter(team=ticket.team_id)}
    here = capacities.get(line.sku)
    others = [
        rules.OtherSku(
            name=skus[slug].name,
            left=room.left,
            free_nodes=capacities[slug].most_at_once,
            gpus_per_node=capacities[slug].gpus_per_node,
        )
        for slug, room in sorted(rooms.items())
        if slug != line.sku and slug in capacities and slug in skus
    ]
    own = rooms.get(line.sku)
    return replace(
        facts,
        asked_nodes=line.asked_qty,
        gpus_per_node=skus[line.sku].gpus_per_node,
        free_nodes=None if here is None else here.most_at_once,
        left=own.left if own is not None else 0,
        others=tuple(others),
    )


def _confirmed(ticket: Ticket) -> int:
    if not ticket.is_blocking:
        return 0
    return BlockPerson.objects.filter(
        block__ticket=ticket, block__ended_at=None, confirmed_at__isnull=False
    ).count()


def _costs(
    ticket: Ticket, lines: Sequence[Line], skus: dict[str, SkuView], at: datetime
) -> tuple[tuple[str, rules.Cost], ...]:
    """Of what was granted, else of what is asked; what a no or an end took away costs nothing."""
    if ticket.status in _NOTHING:
        return ()
    found = []
    for line in lines:
        sku = skus.get(line.granted_sku or line.sku)
        each = None if sku is None else _cost(line, sku, at)
        if each is not None:
            found.append((line.granted_label or line.label, each))
    return tuple(found)


def _cost(line: Line, sku: SkuView, at: datetime) -> rules.Cost | None:
    """A month of all of it, and what is delivered so far, until its lease ends."""
    each = sku.gpus_per_node if line.what == LineWhat.NODES else 1
    quantity = line.asked_qty if line.granted_qty is None else line.granted_qty
    return rules.cost(
        gpus=quantity * each,
        delivered=line.delivered_qty * each,
        price=sku.price_per_gpu_hour,
        currency=sku.currency,
        since=line.delivered_at,
        at=at if line.until is None else min(at, line.until),
    )
