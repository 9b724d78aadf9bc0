"""What is on the desk? Tickets of a view in their order, how many there are in each, and where the cursor goes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import CharField, F, Q, QuerySet, Value

from portal.accounts.access import StaffRole
from portal.accounts.models import Team, User, named
from portal.kernel.clock import now
from portal.kernel.errors import UnknownParameter
from requests_app.catalogue.models import Offering
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.search.queries import documents, tidy
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import QUEUED, TicketState
from requests_app.triage.filters import AGES, ME, NOBODY, RANKED, VIEWS, Filters

WITH_TEAM = (TicketState.WAITING, TicketState.OFFERED)
RUNNING = (TicketState.PROVISIONING, TicketState.PROMISED)
LISTED = (
    *("title", "status", "state_since", "rank_key", "blocked_since", "blocked_people", "idle_gpus"),
    *("team__name", *named("assignee")),
)
"""What a row of the list shows: reading the rest takes longer than all of this."""
COUNTED = 100
MOST = 10_000
"""Tickets that one bulk action takes."""
DECIDERS = (StaffRole.TRIAGER, StaffRole.ADMIN)


def desk(by: User, filters: Filters) -> QuerySet[Ticket]:
    """Tickets of one view, narrowed; unranked ones appear a moment later, when their rank is stored."""
    rows: QuerySet[Ticket] = Ticket.objects.visible_to(by).filter(_view(filters.view, by, now()))
    for narrow in (_by_people, _by_words):
        rows = narrow(rows, filters, by)
    return rows.select_related("team", "requester", "assignee", "offering_version__offering")


def listed(rows: QuerySet[Ticket]) -> QuerySet[Ticket]:
    """The same tickets with no more than a row shows, and their head start in seconds as `head_start`."""
    few = rows.select_related(None).select_related("team", "assignee").only(*LISTED)
    return few.annotate(head_start=F("rank_explanation__head_start"))


def _awake(at: datetime) -> Q:
    return Q(snoozed_until=None) | Q(snoozed_until__lte=at)


def _ranked() -> Q:
    return Q(status__in=QUEUED, rank_key__isnull=False)


def _view(view: str, by: User, at: datetime) -> Q:
    """The condition of a view. The inbox holds what waits for a verdict of mine: nobody's and my own."""
    if view in RANKED:
        if view == "snoozed":
            return _ranked() & Q(snoozed_until__gt=at)
        awake = _ranked() & _awake(at)
        return (
            awake
            & {
                "inbox": Q(assignee=None) | Q(assignee=by),
                "queue": Q(),
                "mine": Q(assignee=by),
                "blocked": Q(blocked_since__isnull=False),
            }[view]
        )
    return {
        "waiting": Q(status__in=WITH_TEAM),
        "by-hand": Q(status=TicketState.APPROVED),
        "running": Q(status__in=RUNNING),
        "all": Q(),
    }[view]


def _by_people(rows: QuerySet[Ticket], filters: Filters, by: User) -> QuerySet[Ticket]:
    if filters.team:
        rows = rows.filter(team__slug=filters.team)
    if filters.assignee == ME:
        return rows.filter(assignee=by)
    if filters.assignee == NOBODY:
        return rows.filter(assignee=None)
    return rows.filter(assignee__username=filters.assignee) if filters.assignee else rows


def _by_words(rows: QuerySet[Ticket], filters: Filters, by: User) -> QuerySet[Ticket]:
    wanted: dict[str, Any] = {
        "status": filters.state,
        "offering_version__offering__slug": filters.offering,
        "offering_version__pillar": filters.pillar,
    }
    rows = rows.filter(**{column: value for column, value in wanted.items() if value})
    if filters.blocked:
        rows = rows.filter(blocked_since__isnull=filters.blocked == "no")
    if filters.age:
        rows = rows.filter(submitted_at__lte=now() - timedelta(days=AGES[filters.age]))
    if filters.q:
        rows = rows.filter(pk__in=documents(by, tidy(filters.q)).values("pk"))
    return rows


def unseen(by: User, filters: Filters, shown: Collection[int], size: int) -> int:
    """How many of the first `size` tickets of this part of the desk are not among those that a page shows."""
    first = desk(by, filters).select_related(None).order_by(*order_of(filters.view))
    return len(set(first.values_list("pk", flat=True)[:size]) - set(shown))


def order_of(view: str) -> tuple[str, ...]:
    """The total order of a view: by rank, newest first for everything, or oldest in its state first."""
    if view == "all":
        return ("-id",)
    return ("rank_key", "id") if view in RANKED else ("state_since", "id")


@dataclass(frozen=True, kw_only=True)
class Tab:
    """One part of the desk and how many wait there; None where nobody counts, `more` where counting stopped."""

    slug: str
    title: str
    count: int | None
    more: bool = False


def tabs(by: User) -> list[Tab]:
    """Every part of the desk with its count, in one statement that stops counting where nobody reads on."""
    counts = _counts(by)
    return [
        Tab(
            slug=slug,
            title=title,
            count=None if slug == "all" else counts[slug],
            more=counts[slug] >= COUNTED,
        )
        for slug, title in VIEWS.items()
    ]


def _counts(by: User) -> Counter[str]:
    """How many are in each view; the desk's people alone have one."""
    if not by.is_infra:
        return Counter()
    statement, values = _counting()
    given: dict[Any, Any] = {_SOMEBODY.pk: by.pk, _SOME_TIME: now()}
    with connection.cursor() as cursor:
        cursor.execute(statement, [given.get(value, value) for value in values])
        return Counter(dict(cursor.fetchall()))


_SOMEBODY = User(pk=-1, staff_role=StaffRole.TRIAGER)
_SOME_TIME = datetime.max.replace(tzinfo=UTC)


@cache
def _counting() -> tuple[str, tuple[Any, ...]]:
    """The statement that counts, and its values with somebody and some time in the places of the real ones.

    Eight queries are put together for it, which takes longer than to run it; they are the same for everybody.
    """
    visible: QuerySet[Ticket] = Ticket.objects.visible_to(_SOMEBODY).order_by()
    parts = [
        visible.filter(_view(slug, _SOMEBODY, _SOME_TIME))
        .annotate(tab=Value(slug, CharField()))
        .values_list("tab")[:COUNTED]
        for slug in VIEWS
        if slug != "all"
    ]
    sql, values = parts[0].union(*parts[1:], all=True).query.sql_with_params()
    return f"SELECT tab, count(*) FROM ({sql}) AS looked_at GROUP BY tab", tuple(values)  # noqa: S608 - our own


def matching(by: User, filters: Filters) -> int:
    """How many tickets these filters match, counted up to one more than a bulk action takes."""
    return desk(by, filters).select_related(None).order_by()[: MOST + 1].count()


def deciders() -> list[User]:
    """Everybody who may have a ticket on their desk, by name."""
    rows = User.objects.filter(is_active=True, staff_role__in=DECIDERS).order_by("username")
    return list(rows.only(*named(), "staff_role", "is_active"))


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the filter form offers: real names, so that nobody types a slug."""

    teams: list[tuple[str, str]]
    offerings: list[tuple[str, str]]
    pillars: tuple[str, ...]
    people: list[User]
    states: tuple[str, ...]


MOST_TEAMS = 100
"""More than these are typed by their short name: a list of thousands would be the larger part of the page."""


def _few_teams() -> list[tuple[str, str]]:
    found = list(Team.objects.order_by("name").values_list("slug", "name")[: MOST_TEAMS + 1])
    return found if len(found) <= MOST_TEAMS else []


def choices(people: list[User]) -> Choices:
    """Teams, offerings, pillars, people and states, in two queries beside the people."""
    shelf = Offering.objects.filter(current__isnull=False).order_by("current__title")
    return Choices(
        teams=_few_teams(),
        offerings=list(shelf.values_list("slug", "current__title")),
        pillars=tuple(PILLARS),
        people=people,
        states=tuple(str(state) for state in TicketState),
    )


def known_names(filters: Filters) -> None:
    """UnknownParameter for a team, an offering or a person that there is not; a typo must not show an empty desk."""
    complaints: dict[str, list[str]] = {}
    if filters.team and not Team.objects.filter(slug=filters.team).exists():
        complaints["team"] = ["There is no such team."]
    if filters.offering and not Offering.objects.filter(slug=filters.offering).exists():
        complaints["offering"] = ["There is no such offering."]
    if (
        filters.assignee not in ("", ME, NOBODY)
        and not User.objects.filter(username=filters.assignee).exists()
    ):
        complaints["assignee"] = ["There is no such person."]
    if complaints:
        raise UnknownParameter(complaints, "The address asks for something that there is not.")
