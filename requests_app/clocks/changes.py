"""What do admins change about clocks? Calendars, who works by them, and goals; open clocks are read anew after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from portal.accounts.access import Action
from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, LostRace, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue.models import Offering
from requests_app.clocks.models import Calendar, ClockGoal, TeamCalendar
from requests_app.clocks.services import look_again
from requests_app.tickets.models import Ticket


@transaction.atomic
def save_calendar(
    *, slug: str, version: int, by: User, teams: Sequence[str], name: str, **hours: Any
) -> Calendar:
    """Make a calendar (`slug` empty) or change one that still has `version`; summaries of its teams are made anew.

    Raises LostRace with what stands there now, in `data["current"]`, when somebody else saved it meanwhile.
    """
    _only_admins(by)
    chosen = _teams(teams)
    values = {"name": name, **hours}
    row = _changed(slug, version, values) if slug else _made(values)
    before = set(TeamCalendar.objects.filter(calendar=row).values_list("team", flat=True))
    TeamCalendar.objects.filter(calendar=row).exclude(team__in=chosen).delete()
    for team in chosen:
        TeamCalendar.objects.update_or_create(team=team, defaults={"calendar": row})
    payload = {"calendar": row.slug, "zone": row.zone, "teams": [team.slug for team in chosen]}
    record(events.CALENDAR_CHANGED, subject=f"calendar:{row.slug}", payload=payload, by=by)
    look_again(Ticket.objects.filter(team__in=before | {team.pk for team in chosen}))
    return row


def _teams(slugs: Sequence[str]) -> list[Team]:
    found = list(Team.objects.filter(slug__in=slugs))
    unknown = sorted(set(slugs) - {team.slug for team in found})
    if unknown:
        raise Invalid({"teams": [f"There is no team {', '.join(unknown)[:200]}."]})
    return found


def _made(values: Mapping[str, Any]) -> Calendar:
    slug = slugify(values["name"])[:40] or "calendar"
    if Calendar.objects.filter(slug=slug).exists():
        raise Invalid({"name": ["There is a calendar of that name."]})
    return Calendar.objects.create(slug=slug, **values)


def _changed(slug: str, version: int, values: Mapping[str, Any]) -> Calendar:
    rows = Calendar.objects.filter(slug=slug)
    if not rows.filter(version=version).update(version=version + 1, **values):
        raise stale(rows.get())
    return rows.get()


def stale(row: Calendar) -> LostRace:
    """Somebody else saved it meanwhile: what stands there now, by the names of the form."""
    return LostRace(
        f"{row.name} was changed by somebody else since you opened it. Nothing of yours was saved yet.",
        data={
            "version": row.version,
            "current": {
                "name": row.name,
                "zone": row.zone,
                "opens": f"{row.opens:%H:%M}",
                "closes": f"{row.closes:%H:%M}",
                "holidays": "\n".join(day.isoformat() for day in row.holidays),
                "teams": "\n".join(row.teams.values_list("team__slug", flat=True)),
            },
        },
    )


@transaction.atomic
def set_goal(
    *, clock: str, offering: Offering | None, kind: str, hours: Decimal, business: bool, by: User
) -> ClockGoal:
    """Say how long a clock may run. Clocks of open tickets are read anew: what was missed under the old goal stays said."""
    _only_admins(by)
    goal, _ = ClockGoal.objects.update_or_create(
        clock=clock, offering=offering, kind=kind, defaults={"hours": hours, "business": business}
    )
    scope = offering.slug if offering else kind
    payload = {"clock": clock, "scope": scope, "hours": float(hours), "business": business}
    record(events.GOAL_CHANGED, subject=f"goal:{clock}", payload=payload, by=by)
    look_again(Ticket.objects.still_open())
    return goal


def _only_admins(by: User) -> None:
    if not by.can(Action.CONFIGURE):
        raise NotAllowed("Only admins change calendars and goals.")
