"""Is the queue well? A nightly look whether stored ranks still hold, and whether more comes in than goes out."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import F

from portal.kernel.clock import now
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks.models import BlockInterval, ClaimRecord, Commitment
from requests_app.blocks.queries import CLAIMS_COUNT_FOR
from requests_app.priority import crunch
from requests_app.priority.facts import READ, facts_of_many
from requests_app.priority.models import CrunchWarning
from requests_app.priority.policies import active_policy
from requests_app.priority.queries import queue
from requests_app.priority.reranking import current_run
from requests_app.priority.scoring import rank
from requests_app.priority.services import OUT, rank_tickets
from requests_app.tickets.models import Ticket

logger = logging.getLogger(__name__)

SAMPLED_OF = 100
OVER = timedelta(days=14)
MOST_NAMED = 50
QUARTER = timedelta(days=91)
MOST_SAMPLED = 5000
FEWEST_FOR_A_MEDIAN = 20


def check_drift(*, part: int | None = None) -> list[str]:
    """Rank one ticket in a hundred again and compare: a difference is a trigger that was missed. Says so, and heals it.

    `part` (0 to 99) picks the hundredth, the day's own when silent, so that every ticket has its turn.
    """
    if current_run() is not None:
        return []  # two versions stand side by side now, on purpose
    part = now().toordinal() % SAMPLED_OF if part is None else part
    policy = active_policy().constants
    rows = Ticket.objects.filter(rank_key__isnull=False).exclude(status__in=OUT)
    sample = list(
        rows.annotate(hundredth=F("pk") % SAMPLED_OF)
        .filter(hundredth=part)
        .select_related("offering_version")
        .only("rank_key", *READ)
        .order_by("pk")
    )
    facts = facts_of_many(sample, now())
    drifted = [ticket for ticket in sample if rank(facts[ticket.pk], policy).key != ticket.rank_key]
    refs = [ticket.ref for ticket in drifted]
    if refs:
        logger.error("ranks drifted: %s", ", ".join(refs[:MOST_NAMED]))
        payload = {"tickets": refs[:MOST_NAMED], "drifted": len(refs), "looked_at": len(sample)}
        record(events.RANK_DRIFTED, subject="priority/drift", payload=payload, by=None)
        rank_tickets([ticket.pk for ticket in drifted])
    return refs


def turn_of_day() -> int:
    """Rank what counts differently by the day: commitments that begin or stop to count, claims whose record is forgotten."""
    return rank_tickets(_turning_commitments() | _forgotten_records())


def _turning_commitments() -> set[int]:
    today = now().date()
    counting = Commitment.objects.filter(confirmed_at__isnull=False, dropped_at=None)
    return {
        row.ticket_id
        for row in counting.filter(due_on__gte=today - timedelta(days=1))
        if today in (row.due_on - timedelta(days=row.lead_days), row.due_on + timedelta(days=1))
    }


def _forgotten_records() -> set[int]:
    """Tickets with an open block of teams, a record of whose claims is forgotten since two days at most."""
    end = now() - CLAIMS_COUNT_FOR
    teams = ClaimRecord.objects.filter(at__lte=end, at__gt=end - timedelta(days=2)).values("team")
    blocks = BlockInterval.objects.filter(ended_at=None, ticket__team__in=teams)
    return set(blocks.values_list("ticket_id", flat=True))


def flow() -> crunch.Flow:
    """The last two weeks of the queue. Who still waits counts as waiting."""
    since, at = now() - OVER, now()
    filed = Ticket.objects.filter(submitted_at__gt=since).count()
    decided = list(
        Ticket.objects.filter(decided_at__gt=since).values_list(
            "submitted_at", "decided_at", "paused_seconds"
        )
    )
    waiting = list(queue().values_list("submitted_at", "paused_seconds"))
    waits = [(end - start).total_seconds() - paused for start, end, paused in decided if end is not None]
    waits += [(at - start).total_seconds() - paused for start, paused in waiting]
    p95 = crunch.percentile(waits, 0.95) / 3600
    return crunch.Flow(arrivals=filed, completions=len(decided), wait_p95_hours=max(0.0, p95))


@transaction.atomic
def watch_crunch() -> list[str]:
    """Begin or end the alarm; returns the reasons while it lasts."""
    seen = flow()
    said = crunch.reasons(seen, half_life_hours=active_policy().half_life_hours)
    open_one = CrunchWarning.objects.select_for_update().filter(ended_at=None).first()
    figures = {
        "arrivals": seen.arrivals,
        "completions": seen.completions,
        "wait_p95_hours": round(seen.wait_p95_hours, 1),
    }
    if said and open_one is None:
        CrunchWarning.objects.create(reasons=said, **figures)
        record(events.CRUNCH_BEGAN, subject="queue", payload={**figures, "reasons": said}, by=None)
    elif said and open_one is not None:
        CrunchWarning.objects.filter(pk=open_one.pk).update(reasons=said, **figures)
    elif open_one is not None:
        CrunchWarning.objects.filter(pk=open_one.pk).update(ended_at=now())
        record(events.CRUNCH_ENDED, subject="queue", payload=figures, by=None)
    return said


def usual_ratio() -> float | None:
    """The median of R·w·φ/E of tickets filed in the last quarter: what x0 should be. None while too few were filed."""
    since = now() - QUARTER
    rows = Ticket.objects.filter(submitted_at__gt=since, rank_explanation__has_key="ratio").order_by("-pk")
    ratios = [float(ratio) for ratio in rows.values_list("rank_explanation__ratio", flat=True)[:MOST_SAMPLED]]
    return crunch.percentile(ratios, 0.5) if len(ratios) >= FEWEST_FOR_A_MEDIAN else None
