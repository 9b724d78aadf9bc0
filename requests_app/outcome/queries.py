"""How did it go, by pillar and in numbers with their n? And was what teams claimed what telemetry saw?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from django.db.models import Avg, Count, Exists, OuterRef, Q, QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.outcome import rules
from requests_app.outcome.models import Outcome
from requests_app.tickets.access import Standing
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import standing_of


@dataclass(frozen=True, kw_only=True)
class Score:
    """Of `asked` requests `answered` had an answer; means from 1 to 5 with the number of people behind them."""

    name: str
    asked: int
    answered: int
    satisfaction: float | None
    satisfaction_n: int
    effort: float | None
    effort_n: int

    @property
    def rate(self) -> float | None:
        """Share of requests with an answer; None when nobody was asked."""
        return None if self.asked == 0 else self.answered / self.asked


def scores(since: datetime, until: datetime) -> tuple[Score, ...]:
    """By pillar, of requests that were delivered, closed or declined from `since` to before `until`; the last row is all."""
    done = _done(since, until)
    said = Exists(Outcome.objects.filter(ticket=OuterRef("pk")))
    asked = (
        done.values("offering_version__pillar")
        .annotate(asked=Count("pk"), answered=Count("pk", filter=Q(said)))
        .order_by("offering_version__pillar")
    )
    means: dict[str, Mapping[str, Any]] = {
        row["ticket__offering_version__pillar"]: row
        for row in Outcome.objects.filter(ticket__in=done)
        .values("ticket__offering_version__pillar")
        .annotate(s=Avg("satisfaction"), s_n=Count("satisfaction"), e=Avg("effort"), e_n=Count("effort"))
        .order_by()
    }
    rows = [_score(row, means.get(row["offering_version__pillar"], {})) for row in asked]
    return (*rows, _all(rows)) if rows else ()


def _score(row: Mapping[str, Any], mean: Mapping[str, Any]) -> Score:
    return Score(
        name=row["offering_version__pillar"],
        asked=row["asked"],
        answered=row["answered"],
        satisfaction=mean.get("s"),
        satisfaction_n=mean.get("s_n", 0),
        effort=mean.get("e"),
        effort_n=mean.get("e_n", 0),
    )


def _done(since: datetime, until: datetime) -> QuerySet[Ticket]:
    return Ticket.objects.filter(
        status__in=rules.ASKED_IN, state_since__gte=since, state_since__lt=until
    ).order_by()


def _all(rows: list[Score]) -> Score:
    satisfied = [
        row.satisfaction for row in rows if row.satisfaction is not None for _ in range(row.satisfaction_n)
    ]
    easy = [row.effort for row in rows if row.effort is not None for _ in range(row.effort_n)]
    return Score(
        name="all",
        asked=sum(row.asked for row in rows),
        answered=sum(row.answered for row in rows),
        satisfaction=fmean(satisfied) if satisfied else None,
        satisfaction_n=len(satisfied),
        effort=fmean(easy) if easy else None,
        effort_n=len(easy),
    )


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the ticket's page shows of it to one reader; `may_say` is False when it is too early, too late or not theirs."""

    mine: Outcome | None
    others: tuple[Outcome, ...]
    may_say: bool
    may_reopen: bool

    @property
    def shows(self) -> bool:
        """True when there is anything to show."""
        return self.may_say or self.may_reopen or self.mine is not None or bool(self.others)


def card_of(ticket: Ticket, user: User, standing: Standing | None = None) -> Card:
    """The card for `user`, who may see the ticket; `standing` is what they are to it, if that is known already."""
    standing, at = standing or standing_of(ticket, user), now()
    said = list(Outcome.objects.visible_to(user).filter(ticket=ticket).select_related("person"))
    mine = next((each for each in said if each.person_id == user.pk), None)
    asked = ticket.status in rules.ASKED_IN and (standing.member or standing.lead)
    return Card(
        mine=mine,
        others=tuple(each for each in said if each is not mine),
        may_say=asked and (mine is None or rules.may_still_change(mine.at, at)),
        may_reopen=standing.speaks_for_team and rules.may_reopen(ticket.status, ticket.state_since, at),
    )
