"""Pages of schedules: what runs by itself, when next, and what came of the last times."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotAllowed, NotFound
from portal.kernel.pages import render_page
from provisioning.fleet.access import check_operates
from provisioning.fleet.models import Sku
from provisioning.schedules import services
from provisioning.schedules.models import Schedule, ScheduleRun

PAGE = "provisioning/schedules/list.html"
LAST_RUNS = 30
DAYS = list(enumerate(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")))


class ScheduleForm(forms.Form):
    """One schedule."""

    name = forms.SlugField(max_length=60, help_text="One that is there is changed.")
    playbook = forms.ChoiceField(choices=[(name, name) for name in services.PLAYBOOKS])
    sku = forms.ChoiceField(required=False, label="SKU")
    at = forms.TimeField(label="At", widget=forms.TimeInput(attrs={"type": "time"}))
    zone = forms.CharField(label="Time zone", max_length=60, help_text="Its name, like Europe/Berlin.")
    days = forms.TypedMultipleChoiceField(
        required=False, coerce=int, choices=DAYS, help_text="None chosen means every day."
    )
    at_once = forms.IntegerField(
        label="Nodes in one job", min_value=1, max_value=services.MOST_AT_ONCE, initial=4
    )
    enabled = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["sku"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "All"), *((sku.slug, sku.slug) for sku in Sku.objects.order_by("slug"))]


@require_GET
@login_required
def schedules_list(request: HttpRequest) -> HttpResponse:
    """What there is, what came of the last times, and the form."""
    if not signed_in(request).is_infra:
        raise NotAllowed("Only infra staff see schedules.")
    found = Schedule.objects.filter(name=request.GET.get("name", "")).select_related("sku").first()
    initial = {"zone": signed_in(request).time_zone or "UTC"}
    if found is not None:
        initial = {
            name: getattr(found, name)
            for name in ("name", "playbook", "at", "zone", "days", "at_once", "enabled")
        }
        initial["sku"] = found.sku.slug if found.sku is not None else ""
    return _page(request, ScheduleForm(initial=initial))


@require_POST
@login_required
def schedule_set(request: HttpRequest) -> HttpResponse:
    """Set one; 422 with the form when something of it can't be."""
    user = signed_in(request)
    check_operates(user)
    form = ScheduleForm(request.POST)
    if form.is_valid():
        try:
            schedule = services.set_schedule(**form.cleaned_data, by=user)
        except Invalid as problem:
            for name, texts in problem.fields.items():
                form.add_error(name, texts)
        else:
            messages.success(request, f"{schedule.name} is set.")
            return redirect("schedules:list")
    return _page(request, form, status=422)


@require_POST
@login_required
def schedule_remove(request: HttpRequest, name: str) -> HttpResponse:
    """Remove one."""
    user = signed_in(request)
    services.remove_schedule(find(request, name), by=user)
    messages.success(request, f"{name} was removed.")
    return redirect("schedules:list")


def find(request: HttpRequest, name: str) -> Schedule:
    """The schedule; NotFound for whoever may not know of it."""
    found = Schedule.objects.visible_to(signed_in(request)).filter(name=name).first()
    if found is None:
        raise NotFound(f"There is no schedule {name[:60]!r}.")
    schedule: Schedule = found
    return schedule


def _page(request: HttpRequest, form: ScheduleForm, *, status: int = 200) -> HttpResponse:
    runs = ScheduleRun.objects.select_related("schedule").prefetch_related("jobs")
    context = {
        "schedules": Schedule.objects.select_related("sku", "changed_by"),
        "runs": runs[:LAST_RUNS],
        "form": form,
        "days": dict(DAYS),
        "may_set": signed_in(request).can(Action.OPERATE_FLEET),
    }
    return render_page(request, PAGE, context, status=status)
