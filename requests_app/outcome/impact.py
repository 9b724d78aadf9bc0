"""Was what a team claimed of its block what telemetry saw? Kept once a block is over, and shown to both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Count, Sum

from requests_app.blocks.models import BlockInterval, ClaimRecord
from requests_app.blocks.queries import lost_gpu_hours, readings_of
from requests_app.outcome.rules import claim_ratio
from requests_app.tickets.models import Ticket


@dataclass(frozen=True, kw_only=True)
class Impact:
    """GPU-hours that a team's blocks were claimed to cost, and what was measured; `ratio` is within 0.5 and 1."""

    team: str
    blocks: int
    claimed: float
    measured: float
    ratio: float | None


def impacts(since: datetime, until: datetime) -> tuple[Impact, ...]:
    """By team, of blocks that were compared in this time; those with most at stake first."""
    rows = (
        ClaimRecord.objects.filter(at__gte=since, at__lt=until)
        .values("team__name")
        .annotate(blocks=Count("pk"), claimed=Sum("claimed_gpu_hours"), measured=Sum("measured_gpu_hours"))
        .order_by("-claimed", "team__name")
    )
    return tuple(
        Impact(
            team=row["team__name"],
            blocks=row["blocks"],
            claimed=row["claimed"],
            measured=row["measured"],
            ratio=claim_ratio(row["claimed"], row["measured"]),
        )
        for row in rows
    )


def compare_blocks(ticket: Ticket) -> int:
    """Keep a record of every block of the ticket that is over, was measured and isn't compared yet; returns how many.

    What was measured is the figure that the page showed: a reading holds until the next, and before the first the claim counts.
    """
    over = BlockInterval.objects.filter(ticket=ticket, ended_at__isnull=False, claim_record=None)
    readings, made = readings_of([ticket.pk]).get(ticket.pk, ()), 0
    for block in over:
        assert block.ended_at is not None
        if not any(level.since >= block.started_at for level in readings):
            continue  # nothing was measured: nothing is said against a claim
        claimed = claimed_hours(block, block.ended_at)
        made += _kept(ticket, block, claimed, lost_gpu_hours(block, block.ended_at, readings))
    return made


def _kept(ticket: Ticket, block: BlockInterval, claimed: float, measured: float) -> bool:
    try:
        with transaction.atomic():
            ClaimRecord.objects.create(
                team=ticket.team, block=block, claimed_gpu_hours=claimed, measured_gpu_hours=measured
            )
    except IntegrityError:  # somebody else compared it meanwhile
        return False
    return True


def claimed_hours(block: BlockInterval, end: datetime) -> float:
    """GPU-hours as the team stated them, each figure for the time until it was corrected."""
    total, start = 0.0, block.started_at
    for amended in block.amendments.order_by("at", "pk"):
        until = min(max(amended.at, start), end)
        total += amended.idle_gpus_before * (until - start).total_seconds() / 3600
        start = until
    return total + block.idle_gpus * max(0.0, (end - start).total_seconds()) / 3600
