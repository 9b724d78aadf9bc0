"""How fast is infra for its customers? Medians and ninth tenths of what clocks came to, by pillar and by team."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from requests_app.clocks.models import ClockSummary
from requests_app.clocks.percentiles import Spread, spread
from requests_app.tickets.models import Ticket

FIGURES = ("answer_seconds", "decision_seconds", "unblock_seconds")
MOST = 200_000
"""Tickets that one page of figures reads at most: the newest of the time asked for."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One group's spreads, in seconds. Only clocks that stopped count; `filed` says how many tickets there were."""

    name: str
    filed: int
    answer: Spread
    decision: Spread
    unblock: Spread


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """All of it, by pillar and by team."""

    everything: Figures
    pillars: tuple[Figures, ...]
    teams: tuple[Figures, ...]


Row = tuple[str, str, int | None, int | None, int | None]


def metrics(since: datetime, until: datetime) -> Metrics:
    """Figures of tickets filed from `since` to before `until`; working time for answer and decision, all time for unblock."""
    rows = list(_rows(since, until)[:MOST])
    return Metrics(
        everything=_figures("All", rows),
        pillars=_grouped(rows, 0),
        teams=_grouped(rows, 1),
    )


def _rows(since: datetime, until: datetime) -> QuerySet[ClockSummary, Row]:
    filed = Ticket.objects.filter(submitted_at__gte=since, submitted_at__lt=until)
    return (
        ClockSummary.objects.filter(ticket__in=filed)
        .order_by("-ticket_id")
        .values_list("ticket__offering_version__pillar", "ticket__team__name", *FIGURES)
    )


def _grouped(rows: list[Row], column: int) -> tuple[Figures, ...]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[str(row[column])].append(row)
    return tuple(_figures(name, groups[name]) for name in sorted(groups))


def _figures(name: str, rows: list[Row]) -> Figures:
    answer, decision, unblock = (
        spread([float(value) for row in rows if (value := row[column]) is not None]) for column in (2, 3, 4)
    )
    return Figures(name=name, filed=len(rows), answer=answer, decision=decision, unblock=unblock)
