"""When is a ticket ranked? When its facts change, and never by the clock: the key is stored with its explanation."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from django.db import connection, transaction
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.ledger.services import record
from requests_app import events
from requests_app.priority.facts import READ, facts_of_many
from requests_app.priority.policies import active_policy
from requests_app.priority.scoring import Facts, Policy, Rank, rank
from requests_app.tickets.families import where_it_goes_on
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import FINAL, TicketState

OUT = (*FINAL, TicketState.READY)
"""States in which nobody waits in a queue any more; a ticket that comes back is ranked anew."""

_STORE = """
UPDATE requests_app_ticket AS ticket
   SET rank_key = new.key, rank_facts = new.facts, rank_explanation = new.explanation
  FROM jsonb_to_recordset(%s::jsonb) AS new (id bigint, key bigint, facts jsonb, explanation jsonb)
 WHERE ticket.id = new.id
"""


def facts_of(ticket: Ticket) -> Facts:
    """What is known of a ticket now."""
    return facts_of_many([ticket], now())[ticket.pk]


@transaction.atomic
def rank_ticket(*, ticket: Ticket, by: User | None) -> Rank | None:
    """Store the rank of a ticket and why; an event tells when the key has moved. None once it is out of the queue's life."""
    fresh = _rankable().get(pk=ticket.pk)
    if fresh.status in OUT:
        return None
    was = fresh.rank_key
    ranked = _rank_and_store([fresh], active_policy().constants)[fresh.pk]
    if was != ranked.key:
        payload = {"key": ranked.key, "was": was, "head_start": ranked.head_start}
        record(events.TICKET_RANKED, subject=ticket.ref, payload=payload, by=by)
    ticket.rank_key = ranked.key
    return ranked


def rank_tickets(ids: Collection[int], *, by: User | None = None) -> int:
    """Rank several tickets one after the other, each in its own transaction; returns how many are in the queue's life.

    One that was taken over is ranked where it went on.
    """
    found = {where_it_goes_on(ticket) for ticket in Ticket.objects.filter(pk__in=ids)}
    return sum(
        rank_ticket(ticket=ticket, by=by) is not None for ticket in sorted(found, key=lambda each: each.pk)
    )


@transaction.atomic
def rank_batch(ids: Sequence[int], policy: Policy) -> int:
    """Rank many tickets with one statement, without an event per ticket.

    The rows are locked first, so that a rank that is computed meanwhile from newer facts isn't overwritten.
    """
    tickets = list(_rankable().filter(pk__in=ids).exclude(status__in=OUT).order_by("pk"))
    return len(_rank_and_store(tickets, policy))


def _rankable() -> QuerySet[Ticket]:
    """Locked, with what a rank reads: what was answered and what was explained last time are most of a row, and say nothing."""
    rows = Ticket.objects.select_for_update(of=("self",)).select_related("offering_version")
    return rows.only("status", "rank_key", *READ)


def _rank_and_store(tickets: Sequence[Ticket], policy: Policy) -> dict[int, Rank]:
    facts = facts_of_many(tickets, now())
    ranks = {ticket_id: rank(each, policy) for ticket_id, each in facts.items()}
    if ranks:
        rows = [
            {"id": ticket_id, "key": each.key, "facts": facts[ticket_id], "explanation": each}
            for ticket_id, each in ranks.items()
        ]
        with connection.cursor() as cursor:
            cursor.execute(_STORE, [json.dumps(rows, default=vars)])
    return ranks
