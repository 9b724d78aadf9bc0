"""What the desk keeps for itself, by page: the rota, canned texts, saved views, and the list of keys."""

from __future__ import annotations

from urllib.parse import parse_qsl

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.forms import take_complaints
from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from portal.kernel.pages import render_page
from requests_app.triage import duty, inbox, placeholders, replies, saved_views
from requests_app.triage.desk_forms import ReplyForm, ShiftForm, ViewForm
from requests_app.triage.doors import for_triagers
from requests_app.triage.models import ReplyTemplate
from requests_app.triage.rota import WEEKDAYS


@require_http_methods(["GET", "POST"])
@for_triagers
def rota(request: HttpRequest) -> HttpResponse:
    """Who is on triage duty, now and by shift."""
    by = signed_in(request)
    form = ShiftForm(request.POST or None, people=inbox.deciders())
    if request.method == "POST" and form.is_valid():
        typed = dict(form.cleaned_data)
        person = User.objects.get(username=typed.pop("person"))
        try:
            duty.set_shift(person=person, **typed, by=by)
        except Invalid as problem:
            take_complaints(form, problem)
        else:
            messages.success(request, f"{person.username} is on the rota.")
            return redirect("desk:rota")
    rows = [(row, [WEEKDAYS[day] for day in row.weekdays]) for row in duty.shifts()]
    context = {"form": form, "rows": rows, "duty": duty.duty_now(), "may": by.is_triager}
    return render_page(request, "requests_app/triage/rota.html", context, status=422 if form.errors else 200)


@require_POST
@for_triagers
def drop_shift(request: HttpRequest, number: int) -> HttpResponse:
    """Take a shift off the rota."""
    duty.drop_shift(number=number, by=signed_in(request))
    messages.success(request, "The shift is off the rota.")
    return redirect("desk:rota")


@require_http_methods(["GET", "POST"])
@for_triagers
def canned(request: HttpRequest) -> HttpResponse:
    """The canned texts of the desk."""
    by = signed_in(request)
    form = ReplyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = replies.save_reply(**form.cleaned_data, by=by)
        except Invalid as problem:
            take_complaints(form, problem)
        else:
            messages.success(request, f"“{row.name}” is kept.")
            return redirect("desk:replies")
    context = {
        "form": form,
        "rows": ReplyTemplate.objects.order_by("name"),
        "holes": placeholders.NAMES,
        "may": by.is_triager,
    }
    return render_page(
        request, "requests_app/triage/replies.html", context, status=422 if form.errors else 200
    )


@require_POST
@for_triagers
def drop_reply(request: HttpRequest, number: int) -> HttpResponse:
    """Throw a canned text away."""
    replies.drop_reply(number=number, by=signed_in(request))
    messages.success(request, "The text is gone.")
    return redirect("desk:replies")


@require_POST
@for_triagers
def save_view(request: HttpRequest) -> HttpResponse:
    """Keep the filters that are set under a name."""
    form = ViewForm(request.POST)
    if not form.is_valid():
        raise Invalid({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    row = saved_views.save_view(
        name=form.cleaned_data["name"],
        filters=dict(parse_qsl(form.cleaned_data["query"])),
        shared=form.cleaned_data["shared"],
        by=signed_in(request),
    )
    messages.success(request, f"The view “{row.name}” is kept.")
    return redirect(f"{reverse('desk:queue')}?{row.address}")


@require_POST
@for_triagers
def drop_view(request: HttpRequest, number: int) -> HttpResponse:
    """Throw a view away."""
    saved_views.drop_view(number=number, by=signed_in(request))
    messages.success(request, "The view is gone.")
    return redirect("desk:queue")


@require_GET
@for_triagers
def keys(request: HttpRequest) -> HttpResponse:
    """Every key of the desk, and the switch."""
    return render_page(request, "requests_app/triage/keys.html", {}, partial="keys")
