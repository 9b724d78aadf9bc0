"""The page on which operators run a playbook by hand: filled in, looked at, started."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, Refused
from portal.kernel.pages import render_page
from provisioning.jobs.deciders import START, only_operators
from provisioning.jobs.playbooks import Playbook
from provisioning.maintenance import services
from provisioning.maintenance.forms import NARROWED_BY, VARIABLE, RunForm
from provisioning.maintenance.services import Preview

PAGE = "provisioning/maintenance/run.html"
INITIAL = {"canary": 1, "percentages": "10 50", "budget": "5%", "state": "free"}


@require_http_methods(["GET", "POST"])
@login_required
def run(request: HttpRequest) -> HttpResponse:
    """The form; a POST looks at the waves, and with `start` starts the run."""
    user = signed_in(request)
    only_operators(user, START)
    book = _book(request)
    if request.method == "GET":
        return _page(request, RunForm(book, initial=INITIAL))
    form, found = RunForm(book, request.POST), None
    if form.is_valid():
        try:
            if "start" in request.POST:
                return _start(request, form, user)
            found = services.preview(form.wanted(), by=user)
            form = _exactly(form, found)
        except Invalid as problem:
            _complain(form, problem)
        except Refused as problem:
            form.add_error(None, problem.message)
    return _page(request, form, found=found, status=422 if form.errors else 200)


def _book(request: HttpRequest) -> Playbook:
    wanted = request.POST.get("playbook") or request.GET.get("playbook", "")
    books = services.runnable()
    return next((book for book in books if book.name == wanted), books[0])


def _start(request: HttpRequest, form: RunForm, user: User) -> HttpResponse:
    job = services.start_run(form.wanted(), by=user)
    messages.success(request, f"{job.ref} was started.")
    return redirect("jobs:detail", job.ref)


def _exactly(form: RunForm, found: Preview) -> RunForm:
    """The form with its nodes by name: what is started is what was looked at, whatever the filter would say by then."""
    names = " ".join(node.name for node in found.nodes)
    told = {**{name: form.data.get(name, "") for name in form.fields}, "nodes": names}
    told |= dict.fromkeys(NARROWED_BY, "")
    if not form.cleaned_data["in_turn"]:
        del told["in_turn"]
    exact = RunForm(form.book, told)
    exact.is_valid()
    return exact


def _complain(form: RunForm, problem: Invalid) -> None:
    for name, texts in problem.fields.items():
        place = next((known for known in (name, VARIABLE + name) if known in form.fields), None)
        form.add_error(place, texts if place else [f"{name}: {text}" for text in texts])


def _page(
    request: HttpRequest, form: RunForm, *, found: Preview | None = None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "books": services.runnable(),
        "book": form.book,
        "preview": found,
    }
    return render_page(request, PAGE, context, status=status)
