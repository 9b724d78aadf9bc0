"""The debt: what is open, what it costs, how long it lives, and the projects that pay it off."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.clock import now
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from requests_app.workarounds import forms, replacing, services
from requests_app.workarounds.debt import VIEWS, debt_of, projects_of, tickets_of, workarounds_of
from requests_app.workarounds.drawing import describe, half_life_figure
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.states import REPLACEMENT


@require_GET
@login_required
def debt(request: HttpRequest) -> HttpResponse:
    """All of it; `?view=` and `?team=` narrow the list. A team sees its own."""
    person = signed_in(request)
    view, team = request.GET.get("view", "open"), request.GET.get("team", "")
    page = page_of(
        workarounds_of(person, view=view, team=team),
        order=("expires_at", "id"),
        cursor=request.GET.get("cursor", ""),
        scope=f"debt|{view}|{team}",
    )
    owed = debt_of(person, team=team)
    context = {
        "page": page,
        "view": view,
        "views": VIEWS,
        "team": team,
        "debt": owed,
        "figure": half_life_figure(owed) if owed.steps else "",
        "said": describe(owed),
        "projects": list(projects_of(person, state="live").order_by("target_on", "id")[:50]),
        "may_plan": person.is_triager,
        "may_cap": person.can(Action.CONFIGURE),
        **pager_links(request, page),
    }
    return render_page(request, "requests_app/workarounds/debt.html", context, partial="rows")


def _project(request: HttpRequest, ref: str) -> Replacement:
    return (
        Replacement.objects.visible_to(signed_in(request)).select_related("owner", "created_by").by_ref(ref)
    )


@require_GET
@login_required
def project(request: HttpRequest, ref: str) -> HttpResponse:
    """One project: why, by when, how far, and who waits for it."""
    person, row = signed_in(request), _project(request, ref)
    context = {
        "project": row,
        "milestones": list(row.milestones.select_related("done_by")),
        "workarounds": tickets_of(row, person),
        "weeks_late": row.weeks_late(now()),
        "actions": REPLACEMENT.actions(row.status) if person.is_triager else (),
        "may_plan": person.is_triager,
    }
    return render_page(request, "requests_app/workarounds/project.html", context)


@require_POST
@login_required
def move_project(request: HttpRequest, ref: str) -> HttpResponse:
    """Plan, start, finish, drop, take up."""
    row = _project(request, ref)
    said = forms.read(forms.MoveForm(request.POST))
    moved = replacing.move_replacement(replacement=row, **said, by=signed_in(request))
    messages.success(request, f"{row.ref} is {moved.status.replace('_', ' ')}.")
    return redirect("debt:project", ref=row.ref)


@require_POST
@login_required
def retarget_project(request: HttpRequest, ref: str) -> HttpResponse:
    """Another target, with its reason."""
    row = _project(request, ref)
    said = forms.read(forms.TargetForm(request.POST))
    replacing.retarget(replacement=row, **said, by=signed_in(request))
    messages.success(request, f"{row.ref} has another target.")
    return redirect("debt:project", ref=row.ref)


@require_POST
@login_required
def finish_milestone(request: HttpRequest, ref: str) -> HttpResponse:
    """A step is done."""
    row = _project(request, ref)
    said = forms.read(forms.MilestoneForm(request.POST))
    done = replacing.finish_milestone(replacement=row, **said, by=signed_in(request))
    messages.success(request, f"Done: {done.name}.")
    return redirect("debt:project", ref=row.ref)


@require_POST
@login_required
def make_project(request: HttpRequest) -> HttpResponse:
    """One project for a class of workarounds."""
    said = forms.read(forms.ProjectForm(request.POST))
    plan = replacing.Plan(title=said["title"])
    made = replacing.make_project(class_key=said["class_key"], plan=plan, by=signed_in(request))
    messages.success(request, f"{made.ref} is the project of all of them.")
    return redirect("debt:project", ref=made.ref)


@require_POST
@login_required
def set_cap(request: HttpRequest) -> HttpResponse:
    """How many workarounds of a pillar may be open."""
    said = forms.read(forms.CapForm(request.POST))
    cap = services.set_cap(**said, by=signed_in(request))
    messages.success(request, f"At most {cap.most} workarounds of {cap.pillar} may be open.")
    return redirect("debt:list")
