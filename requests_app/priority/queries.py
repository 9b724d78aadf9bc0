"""Where does a ticket stand, why, and what is next? Places that are exact near the front and about right far back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Q

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.priority import advice
from requests_app.priority.flood import FIRST_ROWS, Waiting, spread
from requests_app.priority.models import Pin
from requests_app.priority.policies import active_policy
from requests_app.priority.scoring import SECONDS_PER_HOUR, Facts
from requests_app.tickets.models import Ticket, TicketQuerySet
from requests_app.tickets.states import QUEUED

EXACT_UP_TO = 2_000
COMPARED = 100
HISTOGRAM_LASTS = 60
OVERRIDES_OVER = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Place:
    """How many are ahead; `about` when that was estimated; `because` counts kinds of reasons among the nearest ahead."""

    ahead: int
    about: bool
    because: tuple[tuple[str, int], ...]
    compared: int = 0

    @property
    def ordinal(self) -> str:
        """`12th`, or `about 4,200th`."""
        if not self.about:
            return advice.ordinal(self.ahead + 1)
        return f"about {round(self.ahead, -2):,}th"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons in plain words, which name nobody."""
        return advice.in_words(self.because)


def queue() -> TicketQuerySet:
    """What waits for a decision in the common queue; the expedite lane is a list of its own."""
    return Ticket.objects.filter(status__in=QUEUED, rank_key__isnull=False)


def is_in_queue(ticket: Ticket) -> bool:
    """True while the desk has to decide it and its rank is known."""
    return ticket.rank_key is not None and ticket.status in QUEUED


def place_of(ticket: Ticket) -> Place | None:
    """The place in the queue, None when it isn't in it."""
    if not is_in_queue(ticket):
        return None
    ahead, about = ahead_of(ticket)
    nearest = list(_just_ahead(ticket).values_list("rank_facts", "rank_explanation")[:COMPARED])
    mine = advice.standing(ticket.rank_facts, ticket.rank_explanation)
    because = advice.because(mine, (advice.standing(*each) for each in nearest))
    return Place(ahead=ahead, about=about, because=because, compared=len(nearest))


def ahead_of(ticket: Ticket) -> tuple[int, bool]:
    """How many are ahead, and whether that is an estimate. Counts on the index up to a limit, then reads the histogram."""
    some = queue().before(ticket).order_by("rank_key", "pk").values("pk")[: EXACT_UP_TO + 1]
    counted = some.count()
    if counted <= EXACT_UP_TO:
        return counted, False
    assert ticket.rank_key is not None
    return max(EXACT_UP_TO, _estimate(ticket.rank_key)), True


def _estimate(key: int) -> int:
    """Tickets in the hours before, and the ticket's own hour by half; a minute old at most."""
    hours: list[tuple[int, int]] = cache.get_or_set("priority-histogram", _histogram, HISTOGRAM_LASTS) or []
    mine = key // SECONDS_PER_HOUR
    return sum(count for hour, count in hours if hour < mine) + sum(c for h, c in hours if h == mine) // 2


def _histogram() -> list[tuple[int, int]]:
    hour = ExpressionWrapper(F("rank_key") / SECONDS_PER_HOUR, output_field=BigIntegerField())
    return list(queue().annotate(hour=hour).values_list("hour").annotate(Count("pk")).order_by())


def _just_ahead(ticket: Ticket) -> TicketQuerySet:
    return queue().before(ticket).order_by("-rank_key", "-pk")


def nearest_ahead(ticket: Ticket) -> list[Ticket]:
    """The hundred just ahead, nearest first."""
    rows = _just_ahead(ticket)
    return list(rows.only("pk", "title", "rank_key", "rank_facts", "rank_explanation", "status")[:COMPARED])


def next_up(limit: int = 10, *, by: User | None = None) -> list[Ticket]:
    """What to pick next: the head of the queue with each further ticket of a team a step back. Pages don't use it.

    Tickets that are on somebody's desk, snoozed or expedited are left out; with `by` their own desk counts as free.
    """
    picked = _spread_head(by)[:limit]
    found = Ticket.objects.for_pages().in_bulk(picked)
    return [found[pk] for pk in picked]


def picking_order() -> list[int]:
    """Ids of tickets that nobody has, in the order they are picked: the expedite lane, then the spread head of the queue."""
    lane = expedited().filter(status__in=QUEUED, assignee__isnull=True)
    return [*lane.values_list("pk", flat=True), *_spread_head(None)]


def _spread_head(by: User | None) -> list[int]:
    """Free tickets of the head, spread. What somebody has already still counts as its team's: it keeps its turn."""
    common = queue().filter(expedited_at__isnull=True).order_by("rank_key", "pk")
    rows = list(common.values_list("pk", "team_id", "rank_key", "assignee_id", "snoozed_until")[:FIRST_ROWS])
    head = [Waiting(ticket=pk, team=team, key=key or 0) for pk, team, key, _, _ in rows]
    own, at = None if by is None else by.pk, now()
    free = {pk for pk, _, _, has, until in rows if has in (None, own) and (until is None or until <= at)}
    shift = round(active_policy().flood_hours * SECONDS_PER_HOUR)
    picked = [row.ticket for row in spread(head, shift=shift) if row.ticket in free]
    return picked or _beyond_the_head(common, by)


def _beyond_the_head(common: TicketQuerySet, by: User | None) -> list[int]:
    """When all of the head is taken or asleep: the first that are free behind it."""
    free = Q(assignee__isnull=True) if by is None else Q(assignee__isnull=True) | Q(assignee=by)
    awake = Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now())
    return list(common.filter(free, awake).values_list("pk", flat=True)[:FIRST_ROWS])


def expedited() -> TicketQuerySet:
    """The expedite lane, first in first."""
    return Ticket.objects.filter(expedited_at__isnull=False).still_open().order_by("expedited_at", "pk")


def override_rate() -> float:
    """Tickets pinned in the last 30 days over tickets filed in them; 0 when none was filed."""
    since = now() - OVERRIDES_OVER
    filed = Ticket.objects.filter(submitted_at__gt=since).count()
    pinned = Pin.objects.filter(made_at__gt=since).values("ticket").distinct().count()
    return pinned / filed if filed else 0.0


def stored_facts(ticket: Ticket) -> Facts | None:
    """The facts the stored rank was made from; None before it is ranked, or when they were made by an older rule."""
    kept: dict[str, Any] = ticket.rank_facts
    try:
        return Facts(**kept) if kept else None
    except TypeError:
        return None
