"""What do we owe? Open and overdue workarounds, what they cost a week, how long they live, and which are one project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, DecimalField, F, Max, Min, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.workarounds.carrying_out import REPLACED
from requests_app.workarounds.models import (
    DEFAULT_CAP,
    InterestEntry,
    PillarCap,
    Workaround,
    WorkaroundQuerySet,
)
from requests_app.workarounds.projects import Replacement, ReplacementQuerySet
from requests_app.workarounds.states import IN_TROUBLE, LIVE, OPEN, WorkaroundState
from requests_app.workarounds.survival import Life, Step, half_life, survival

LOOK_BACK = timedelta(days=730)
REPEATS_WITHIN = timedelta(days=365)
MOST_LIVES = 20_000
MOST_REPEATS = 50
VIEWS = {"open": "Open", "overdue": "Overdue", "trouble": "Need a person", "ended": "Gone", "": "All"}


def workarounds_of(
    user: User, *, view: str = "", team: str = "", pillar: str = "", kind: str = ""
) -> WorkaroundQuerySet:
    """Workarounds the person may see, narrowed; Invalid for a view or pillar that there is not."""
    if view not in VIEWS:
        raise Invalid({"view": [f"Choose one of: {', '.join(name for name in VIEWS if name)}."]})
    if pillar and pillar not in PILLARS:
        raise Invalid({"pillar": [f"Choose one of: {', '.join(PILLARS)}."]})
    rows = Workaround.objects.visible_to(user).for_pages()
    narrowed = {
        "open": Q(status__in=OPEN),
        "overdue": Q(status__in=OPEN, expires_at__lte=now()),
        "trouble": Q(status__in=IN_TROUBLE),
        "ended": Q(status=WorkaroundState.ENDED),
    }
    rows = rows.filter(narrowed[view]) if view else rows
    for column, value in (("ticket__team__slug", team), ("pillar", pillar), ("kind", kind)):
        if value:
            rows = rows.filter(**{column: value})
    return rows


def projects_of(user: User, *, state: str = "", pillar: str = "") -> ReplacementQuerySet:
    """Projects the person may see; `live` is a group of states."""
    rows = Replacement.objects.visible_to(user).select_related("owner")
    if state == "live":
        rows = rows.live()
    elif state == "late":
        rows = rows.live().filter(target_on__lt=now().date())
    elif state:
        rows = rows.filter(status=state)
    return rows.filter(pillar=pillar) if pillar else rows


@dataclass(frozen=True, kw_only=True)
class PillarDebt:
    """One pillar: open workarounds beside the cap."""

    pillar: str
    open: int
    most: int

    @property
    def says(self) -> str:
        """For whoever can't see a bar."""
        return f"{self.open} of at most {self.most} open"

    @property
    def tone(self) -> str:
        """Red at the cap, yellow near it."""
        return "danger" if self.open >= self.most else "warn" if self.open * 4 >= self.most * 3 else "ok"


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """The same need again: a class, how often it came, for how many teams, and whether a project is at work on it."""

    class_key: str
    summary: str
    times: int
    open: int
    teams: int
    since: datetime
    project: Replacement | None
    without: int

    @property
    def should_be_a_project(self) -> bool:
        """True when several came and some of those that are open have no project."""
        return self.times > 1 and self.without > 0


@dataclass(frozen=True, kw_only=True)
class Debt:
    """The whole of it. `interest` is hours of infra work a week, `half_life` days or None while more than half live."""

    open: int
    overdue: int
    trouble: int
    late_projects: int
    interest: Decimal
    half_life: float | None
    steps: tuple[Step, ...]
    replaced: int
    counted: int
    pillars: tuple[PillarDebt, ...]
    repeats: tuple[Repeat, ...]


def debt_of(user: User, *, team: str = "") -> Debt:
    """The debt the person may see, of one team or of all."""
    at = now()
    rows = workarounds_of(user, team=team)
    owed = Q(status__in=OPEN)
    counts = rows.aggregate(
        open=Count("pk", filter=owed),
        overdue=Count("pk", filter=owed & Q(expires_at__lte=at)),
        trouble=Count("pk", filter=Q(status__in=IN_TROUBLE)),
    )
    lives = _lives(rows, at)
    steps = survival(lives)
    late = projects_of(user, state="late")
    return Debt(
        **counts,
        late_projects=(late.filter(tickets__team__slug=team).distinct() if team else late).count(),
        interest=_interest(rows.filter(owed)),
        half_life=half_life(steps),
        steps=steps,
        replaced=sum(life.replaced for life in lives),
        counted=len(lives),
        pillars=_pillars(rows) if user.is_infra and not team else (),
        repeats=_repeats(rows, at),
    )


def _interest(rows: WorkaroundQuerySet) -> Decimal:
    """Hours a week: the latest entry of each, or what was estimated where nobody noted any."""
    latest = InterestEntry.objects.filter(workaround=OuterRef("pk")).order_by("-week").values("hours")[:1]
    hours = DecimalField(max_digits=8, decimal_places=2)
    weekly = Coalesce(Subquery(latest), F("interest_hours"), output_field=hours)
    total = rows.annotate(weekly=weekly).aggregate(total=Sum("weekly"))["total"]
    return total or Decimal(0)


def _lives(rows: WorkaroundQuerySet, at: datetime) -> list[Life]:
    seen = rows.filter(active_at__gte=at - LOOK_BACK).order_by("-id")
    facts = seen.values_list("active_at", "ended_at", "ended_why")[:MOST_LIVES]
    return [
        Life(
            days=((ended or at) - active) / timedelta(days=1), replaced=ended is not None and why == REPLACED
        )
        for active, ended, why in facts
        if active is not None
    ]


def _pillars(rows: WorkaroundQuerySet) -> tuple[PillarDebt, ...]:
    caps = dict(PillarCap.objects.values_list("pillar", "most"))
    counted = rows.filter(status__in=OPEN).order_by().values_list("pillar").annotate(count=Count("pk"))
    have = dict(counted)
    return tuple(
        PillarDebt(pillar=name, open=have.get(name, 0), most=caps.get(name, DEFAULT_CAP)) for name in PILLARS
    )


def _repeats(rows: WorkaroundQuerySet, at: datetime) -> tuple[Repeat, ...]:
    owed = Q(status__in=OPEN)
    orphan = owed & ~Q(replacement__status__in=LIVE)
    classes = (
        rows.filter(created_at__gte=at - REPEATS_WITHIN)
        .order_by()
        .values("class_key")
        .annotate(
            times=Count("pk"),
            still=Count("pk", filter=owed),
            without=Count("pk", filter=orphan | (owed & Q(replacement=None))),
            teams=Count("ticket__team", distinct=True),
            since=Min("created_at"),
            summary=Max("summary"),
        )
        .filter(times__gt=1)
        .order_by("-times", "class_key")[:MOST_REPEATS]
    )
    found = list(classes)
    live = Replacement.objects.live().filter(class_key__in=[each["class_key"] for each in found])
    projects = {project.class_key: project for project in live}
    return tuple(
        Repeat(
            class_key=each["class_key"],
            summary=each["summary"],
            times=each["times"],
            open=each["still"],
            teams=each["teams"],
            since=each["since"],
            project=projects.get(each["class_key"]),
            without=each["without"],
        )
        for each in found
    )


def tickets_of(project: Replacement, user: User) -> Sequence[Workaround]:
    """Workarounds that a project replaces and the person may see, with their tickets."""
    rows = Workaround.objects.visible_to(user).for_pages().filter(replacement=project)
    return list(rows.order_by("expires_at", "id")[:200])
