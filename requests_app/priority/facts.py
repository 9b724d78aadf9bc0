"""What is known of tickets when they are ranked? Gathered for many at once, in a constant number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from requests_app.blocks.evidence import Counted, Evidence, count, together
from requests_app.blocks.queries import evidence_for
from requests_app.priority.models import FairShare, Pin
from requests_app.priority.residual import residuals_of
from requests_app.priority.scoring import Facts
from requests_app.tickets.families import absorbed_by
from requests_app.tickets.models import Line, Ticket

PEOPLE = "people"
"""The resource class of tickets that ask for no GPUs: the time of infra people."""

READ = ("submitted_at", "paused_seconds", "effort_hours", "team", "offering_version__effort_hours")
"""Columns of a ticket that its facts are made of, for `only()`."""

_NOTHING = Evidence()


def facts_of_many(tickets: Sequence[Ticket], at: datetime) -> dict[int, Facts]:
    """Facts by ticket id. Tickets carry `offering_version` already, or it is read one by one."""
    ids = [ticket.pk for ticket in tickets]
    losses = _losses(ids, at)
    fairness, pins = _fairness(tickets), _pins(ids)
    found = {}
    for ticket in tickets:
        counted, residual = together(losses[ticket.pk])
        found[ticket.pk] = Facts(
            ready_at=int(ticket.submitted_at.timestamp()),
            paused=ticket.paused_seconds,
            idle_gpu_hours=counted.idle_gpu_hours,
            people=counted.people,
            dated_loss=counted.dated_loss,
            confidence=counted.confidence,
            people_confidence=counted.people_confidence,
            dated_confidence=counted.dated_confidence,
            residual=residual,
            fairness=fairness.get(ticket.pk, 1.0),
            effort_hours=effort_of(ticket),
            pin=pins.get(ticket.pk, 0),
        )
    return found


def _losses(ids: Sequence[int], at: datetime) -> dict[int, list[tuple[Counted, float]]]:
    """By ticket what counts of its own block and of each that it took over, each with what remains after its workaround."""
    taken_over = absorbed_by(ids)
    everybody = [*ids, *taken_over]
    evidence, residuals = evidence_for(everybody, at), residuals_of(everybody, at)
    found: dict[int, list[tuple[Counted, float]]] = defaultdict(list)
    for number in everybody:
        loss = count(evidence.get(number, _NOTHING)), residuals.get(number, 1.0)
        found[taken_over.get(number, number)].append(loss)
    return found


def effort_of(ticket: Ticket) -> float:
    """E: infra-hours to first relief as staff expects them, else the offering's own figure."""
    given = ticket.effort_hours
    return float(ticket.offering_version.effort_hours if given is None else given)


def _pins(ids: Collection[int]) -> dict[int, int]:
    return dict(Pin.objects.filter(ticket__in=ids, ended_at=None).values_list("ticket_id", "seconds"))


def _fairness(tickets: Sequence[Ticket]) -> dict[int, float]:
    """φ by ticket: of the kind of node it asks for, the least of several; of people's time when it asks for none."""
    asked: dict[int, set[str]] = defaultdict(set)
    lines = Line.objects.filter(ticket__in=[ticket.pk for ticket in tickets]).exclude(sku="")
    for ticket_id, sku in lines.values_list("ticket_id", "sku"):
        asked[ticket_id].add(sku)
    shares = FairShare.objects.filter(team__in={ticket.team_id for ticket in tickets})
    by_key = {(share.team_id, share.resource): share.fairness for share in shares}
    return {
        ticket.pk: min(by_key.get((ticket.team_id, sku), 1.0) for sku in asked.get(ticket.pk) or {PEOPLE})
        for ticket in tickets
    }
