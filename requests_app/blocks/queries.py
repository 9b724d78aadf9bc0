"""What is known of blocks? What speaks for them, in a constant number of queries, and what they cost so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Lag

from portal.accounts.models import Team
from portal.kernel.clock import now
from requests_app.blocks import arithmetic
from requests_app.blocks.arithmetic import Level, Loss
from requests_app.blocks.evidence import Evidence, Named
from requests_app.blocks.models import BlockInterval, BlockPerson, ClaimRecord, Commitment, IdleReading
from requests_app.tickets.states import FINAL, TicketState

OVER = frozenset(FINAL) - {TicketState.MERGED}
"""A block counts no more when its request is over; one that was taken over goes on in the request that took it."""
CLAIMS_COUNT_FOR = timedelta(days=180)


def evidence_for(ticket_ids: Collection[int], at: datetime) -> dict[int, Evidence]:
    """What speaks for the open blocks and commitments of these tickets; a ticket with neither isn't there."""
    blocks = {
        block.ticket_id: block
        for block in _evident(BlockInterval.objects.filter(ticket__in=ticket_ids, ended_at=None))
    }
    dated = _dated_losses(ticket_ids, at)
    teams = {block.ticket.team_id for block in blocks.values()}
    rivals = _live_blocks(teams)
    measured = _latest_readings([*blocks.values(), *rivals])
    parts = _parts(rivals, measured)
    named = _named(blocks.values())
    ratios = claim_ratios(teams, at)
    found = {}
    for ticket_id in blocks.keys() | dated.keys():
        block = blocks.get(ticket_id)
        loss = dated.get(ticket_id, 0.0)
        if block is None:
            found[ticket_id] = Evidence(dated_loss=loss)
            continue
        found[ticket_id] = Evidence(
            people=block.people,
            idle_gpus=block.idle_gpus,
            measured_gpus=measured.get(block.pk),
            confirmed=block.confirmed_at is not None,
            named=named.get(block.pk, ()),
            gpu_part=parts.get(block.pk, 1.0),
            dated_loss=loss,
            claim_ratio=ratios.get(block.ticket.team_id, 1.0),
        )
    return found


def _live_blocks(teams: Collection[int]) -> list[BlockInterval]:
    """Open blocks of the teams' tickets that somebody still works on."""
    rows = BlockInterval.objects.filter(ended_at=None, ticket__team__in=teams).exclude(
        ticket__status__in=OVER
    )
    return list(_evident(rows))


def _evident(rows: QuerySet[BlockInterval]) -> QuerySet[BlockInterval]:
    """With what evidence is made of, and no more."""
    few = ("people", "idle_gpus", "confirmed_at", "started_at", "resource", "ticket__team")
    return rows.select_related("ticket").only(*few)


def _latest_readings(blocks: Collection[BlockInterval]) -> dict[int, int]:
    """Block id -> GPUs that the latest measurement since its beginning found idle."""
    rows = IdleReading.objects.filter(ticket__in={block.ticket_id for block in blocks})
    latest = {row.ticket_id: row for row in rows.order_by("ticket_id", "-at", "-id").distinct("ticket_id")}
    return {
        block.pk: row.idle_gpus
        for block in blocks
        if (row := latest.get(block.ticket_id)) is not None and row.at >= block.started_at
    }


def _parts(blocks: Iterable[BlockInterval], measured: dict[int, int]) -> dict[int, float]:
    groups: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for block in blocks:
        gpus = measured.get(block.pk, block.idle_gpus)
        groups[(block.ticket.team_id, block.resource)][block.pk] = float(gpus)
    parts: dict[int, float] = {}
    for group in groups.values():
        parts.update(arithmetic.parts_of_one_loss(group))
    return parts


def _named(blocks: Iterable[BlockInterval]) -> dict[int, tuple[Named, ...]]:
    persons = list(BlockPerson.objects.filter(block__in=[block.pk for block in blocks]))
    open_ones = BlockPerson.objects.filter(
        user__in={person.user_id for person in persons}, block__ended_at=None, refused_at=None
    ).exclude(block__ticket__status__in=OVER)
    named_in = dict(open_ones.values_list("user").annotate(Count("pk")).order_by())
    found: dict[int, list[Named]] = defaultdict(list)
    for person in persons:
        found[person.block_id].append(
            Named(
                confirmed=person.confirmed_at is not None,
                refused=person.refused_at is not None,
                half=person.half,
                named_in=named_in.get(person.user_id, 1),
            )
        )
    return {block: tuple(people) for block, people in found.items()}


def _dated_losses(ticket_ids: Collection[int], at: datetime) -> dict[int, float]:
    """GPU-hours a day of confirmed commitments whose lead time has begun and whose day is not over."""
    today = at.date()
    rows = Commitment.objects.filter(
        ticket__in=ticket_ids, confirmed_at__isnull=False, dropped_at=None, due_on__gte=today
    )
    losses: dict[int, float] = defaultdict(float)
    for row in rows:
        if row.due_on - timedelta(days=row.lead_days) <= today:
            losses[row.ticket_id] += row.loss_per_day
    return dict(losses)


def claim_ratios(team_ids: Collection[int], at: datetime) -> dict[int, float]:
    """Claim ratio by team id, from what was claimed and measured in the last 180 days; a team without records isn't there."""
    pairs: dict[int, list[tuple[float, float]]] = defaultdict(list)
    rows = ClaimRecord.objects.filter(team__in=team_ids, at__gt=at - CLAIMS_COUNT_FOR)
    for team, claimed, measured in rows.values_list("team_id", "claimed_gpu_hours", "measured_gpu_hours"):
        pairs[team].append((claimed, measured))
    return {team: arithmetic.claim_ratio(records) for team, records in pairs.items()}


def claim_ratio(team: Team) -> float:
    """What a team's claims count for, in [0.5, 1]: measured over claimed GPU-hours of its earlier blocks; 1.0 without any."""
    return claim_ratios([team.pk], now()).get(team.pk, 1.0)


def affected_tickets(ticket_id: int) -> list[int]:
    """Tickets whose rank reads a block of `ticket_id`: itself, and open blocks of its team or of the people it names."""
    team = BlockInterval.objects.filter(ticket=ticket_id).values_list("ticket__team_id", flat=True).first()
    named = BlockPerson.objects.filter(block__ticket=ticket_id).values("user")
    open_ones = BlockInterval.objects.filter(ended_at=None)
    of_team = open_ones.filter(ticket__team=team).values_list("ticket_id", flat=True)
    of_people = open_ones.filter(persons__user__in=named).values_list("ticket_id", flat=True)
    return sorted({ticket_id, *of_team, *of_people})


def claimed_gpus(block: BlockInterval) -> tuple[Level, ...]:
    """Idle GPUs as the team told them over time, corrections included."""
    before = [(amendment.at, amendment.idle_gpus_before) for amendment in block.amendments.all()]
    return _over_time(block, before, block.idle_gpus)


def claimed_people(block: BlockInterval) -> tuple[Level, ...]:
    """People who couldn't work, as the team told it over time."""
    before = [(amendment.at, amendment.people_before) for amendment in block.amendments.all()]
    return _over_time(block, before, block.people)


def _over_time(block: BlockInterval, before: list[tuple[datetime, int]], latest: int) -> tuple[Level, ...]:
    starts = [block.started_at, *(max(at, block.started_at) for at, _ in before)]
    amounts = [*(amount for _, amount in before), latest]
    return tuple(Level(since=at, amount=amount) for at, amount in zip(starts, amounts, strict=True))


def readings_of(ticket_ids: Collection[int]) -> dict[int, tuple[Level, ...]]:
    """Measured idle GPUs by ticket, oldest first; of readings that say the same in a row the first alone, in one query.

    Each block hears its own first one, though it says what the last of the block before said.
    """
    begun = BlockInterval.objects.filter(ticket=OuterRef("ticket_id"), started_at__lte=OuterRef("at"))
    block = Subquery(begun.order_by("-started_at").values("pk")[:1])
    before = Window(Lag("idle_gpus"), partition_by=["ticket_id", "block"], order_by=["at", "id"])
    rows = IdleReading.objects.filter(ticket__in=ticket_ids).annotate(block=block).annotate(before=before)
    changed = rows.filter(Q(before__isnull=True) | ~Q(before=F("idle_gpus"))).order_by("at", "id")
    found: dict[int, list[Level]] = defaultdict(list)
    for ticket, at, gpus in changed.values_list("ticket_id", "at", "idle_gpus"):
        found[ticket].append(Level(since=at, amount=gpus))
    return {ticket: tuple(levels) for ticket, levels in found.items()}


def counted_gpus(block: BlockInterval, readings: Iterable[Level], until: datetime) -> tuple[Level, ...]:
    """Idle GPUs that count: measured from the first measurement on, claimed before."""
    measured = [level for level in readings if block.started_at <= level.since < until]
    return arithmetic.measured_over_claimed(claimed_gpus(block), measured)


def lost_gpu_hours(block: BlockInterval, at: datetime, readings: Iterable[Level] | None = None) -> float:
    """GPU-hours this block has cost until `at` or its end, taken alone. `readings` are its ticket's, if they are at hand."""
    until = min(at, block.ended_at or at)
    if readings is None:
        readings = readings_of([block.ticket_id]).get(block.ticket_id, ())
    return arithmetic.hours(counted_gpus(block, readings, until), until)


def lost_people_hours(block: BlockInterval, at: datetime) -> float:
    """Hours of people who could not work because of this block, until `at` or its end."""
    until = min(at, block.ended_at or at)
    return arithmetic.hours(claimed_people(block), until)


def lost_once(blocks: Collection[BlockInterval], at: datetime) -> float:
    """GPU-hours of many blocks together: what overlaps on one resource of one team is lost once.

    Blocks carry `ticket` and `amendments` already, or each reads its own.
    """
    readings = readings_of({block.ticket_id for block in blocks})
    losses = []
    for block in blocks:
        until = min(at, block.ended_at or at)
        levels = counted_gpus(block, readings.get(block.ticket_id, ()), until)
        team = str(block.ticket.team_id)
        losses.append(Loss(team=team, resource=block.resource, levels=levels, until=until))
    return arithmetic.hours_once(losses)
