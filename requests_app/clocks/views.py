"""How fast is infra, and by which calendars and goals is that measured? For infra people; admins change them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in, signed_in_infra
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import render_page
from requests_app.clocks import changes
from requests_app.clocks.card import hours_in_words
from requests_app.clocks.figures import metrics
from requests_app.clocks.forms import CalendarForm, GoalForm
from requests_app.clocks.goals import HOUSE
from requests_app.clocks.models import Calendar
from requests_app.clocks.queries import goals_said, work_calendar

PERIODS = {"7": "A week", "30": "30 days", "90": "90 days", "365": "A year"}
PAGE = "requests_app/clocks/figures.html"
CALENDAR = "requests_app/clocks/calendar.html"
KNOWN = frozenset({"days"})


@require_GET
@login_required
def figures(request: HttpRequest) -> HttpResponse:
    """Figures of the last `?days=`, with the goals and calendars behind them."""
    signed_in_infra(request)
    unknown = sorted(set(request.GET) - KNOWN)
    days = request.GET.get("days", "30")
    if unknown or days not in PERIODS:
        raise Invalid({unknown[0] if unknown else "days": [f"Known: days of {', '.join(PERIODS)}."]})
    return _figures(request, days, GoalForm(prefix="goal"))


def _figures(request: HttpRequest, days: str, form: GoalForm, status: int = 200) -> HttpResponse:
    until = now()
    context = {
        "metrics": metrics(until - timedelta(days=int(days)), until),
        "periods": PERIODS,
        "days": days,
        "goals": _goals(),
        "calendars": [
            (row, hours_in_words(work_calendar(row)), row.teams.count()) for row in Calendar.objects.all()
        ],
        "form": form,
        "may_change": signed_in(request).can(Action.CONFIGURE),
    }
    return render_page(request, PAGE, context, status=status)


def _goals() -> list[dict[str, Any]]:
    rows = {**HOUSE, **goals_said()}
    return [
        {"clock": clock.value, "scope": f"{scope[0]} {scope[1]}".strip() or "everything", "goal": goal}
        for (scope, clock), goal in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0]))
    ]


@require_POST
@login_required
def goal(request: HttpRequest) -> HttpResponse:
    """Say how long a clock may run."""
    person, form = signed_in_infra(request), GoalForm(request.POST, prefix="goal")
    if not form.is_valid():
        return _figures(request, "30", form, status=422)
    changes.set_goal(**form.cleaned_data, by=person)
    messages.success(request, "The goal holds; open clocks are read anew.")
    return redirect("clocks:figures")


@require_http_methods(["GET", "POST"])
@login_required
def new_calendar(request: HttpRequest) -> HttpResponse:
    """Make a calendar."""
    return _calendar(request, None)


@require_http_methods(["GET", "POST"])
@login_required
def calendar(request: HttpRequest, slug: str) -> HttpResponse:
    """Look at a calendar, and change it."""
    signed_in_infra(request)
    row = Calendar.objects.filter(slug=slug).first()
    if row is None:
        raise NotFound("There is no such calendar.")
    return _calendar(request, row)


def _calendar(request: HttpRequest, row: Calendar | None) -> HttpResponse:
    person = signed_in_infra(request)
    initial = {} if row is None else _initial(row)
    form = CalendarForm(request.POST) if request.method == "POST" else CalendarForm(initial=initial or None)
    if request.method == "POST" and form.is_valid():
        saved = changes.save_calendar(slug=row.slug if row else "", **form.cleaned_data, by=person)
        messages.success(request, f"{saved.name} holds; clocks of its teams are read anew.")
        return redirect("clocks:figures")
    context = {"row": row, "form": form, "may_change": person.can(Action.CONFIGURE)}
    return render_page(request, CALENDAR, context, status=422 if form.errors else 200)


def _initial(row: Calendar) -> dict[str, Any]:
    return {
        "version": row.version,
        "name": row.name,
        "zone": row.zone,
        "days": row.days,
        "opens": row.opens,
        "closes": row.closes,
        "holidays": "\n".join(day.isoformat() for day in row.holidays),
        "teams": "\n".join(row.teams.values_list("team__slug", flat=True)),
    }
