"""What does a policy see of a ticket, and what does it do? It approves, or leaves a note of why a person decides."""

from __future__ import annotations

import logging
from datetime import datetime

from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from portal.ledger.services import record
from provisioning import interface
from requests_app import events
from requests_app.negotiation.fulfilment import gpus_of, holds_quota
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Line, LineWhat, Ticket
from requests_app.tickets.states import TicketState
from requests_app.triage.policies import Decision, Limits, Seen, decide
from requests_app.triage.services import approve_ticket

logger = logging.getLogger(__name__)


def limits_of(ticket: Ticket) -> Limits:
    """The limits of the pinned offering version."""
    policy = ticket.offering_version.policy
    if not policy:
        return Limits()
    names = ("max_gpus", "max_share_of_free", "max_days", "max_open")
    return Limits(enabled=True, **{name: policy[name] for name in names if policy.get(name) is not None})


def see(ticket: Ticket, at: datetime) -> Seen:
    """Look at quota, capacity and the team's other asks, once."""
    lines = list(ticket.lines.all())
    skus = {line.sku for line in lines if line.sku}
    rooms = [room_for(ticket.team, sku).left for sku in skus]
    limited = [left for left in rooms if left is not None]
    needs_capacity = any(line.what == LineWhat.NODES for line in lines)
    others = Ticket.objects.still_open().filter(
        team=ticket.team, offering_version__offering=ticket.offering_version.offering
    )
    return Seen(
        gpus=sum(gpus_of(line) for line in lines),
        quota_left=min(limited) if limited else None,
        needs_quota=any(holds_quota(line) for line in lines),
        free_gpus=_free_gpus(skus) if needs_capacity else None,
        days=_longest(lines, at),
        open_asks=others.exclude(pk=ticket.pk).exclude(status=TicketState.READY).count(),
    )


def _free_gpus(skus: set[str]) -> int:
    found = [interface.capacity(sku) for sku in skus]
    return sum(capacity.most_at_once * capacity.gpus_per_node for capacity in found)


def _longest(lines: list[Line], at: datetime) -> int | None:
    ends = [line.until for line in lines]
    if any(end is None for end in ends):
        return None
    return max(((end - at).days + 1 for end in ends if end is not None), default=0)


def apply_policy(ticket: Ticket) -> Decision | None:
    """Decide a fresh ticket by its offering's policy; None when somebody already has."""
    if ticket.status != TicketState.SUBMITTED:
        return None
    decision = decide(limits_of(ticket), see(ticket, now()))
    record(events.POLICY_DECIDED, subject=ticket.ref, payload=decision.as_data(), by=None)
    if decision.approved:
        try:
            approve_ticket(ticket=ticket, version=ticket.version, by=None)
        except PortalError as refusal:
            logger.info("policy could not approve %s: %s", ticket.ref, refusal.message)
            payload = {"approved": False, "reasons": [refusal.message]}
            record(events.POLICY_DECIDED, subject=ticket.ref, payload=payload, by=None)
    return decision
