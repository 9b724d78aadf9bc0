"""What may be typed at the desk? One reading per verb: texts into the things that services take, or complaints by field."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import Any

from django import forms
from django.utils import timezone

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotFound
from requests_app.negotiation.forms import read_expiry, read_proposals
from requests_app.tickets.models import Ticket
from requests_app.triage.models import ReplyUse
from requests_app.triage.pane import sleep_until
from requests_app.triage.rota import WEEKDAYS

LONG = 5000


class VerdictForm(forms.Form):
    """Everything that any verb takes; each verb reads its own."""

    version = forms.IntegerField(min_value=1, max_value=10**9)
    note = forms.CharField(max_length=LONG, required=False)
    reason_code = forms.CharField(max_length=40, required=False)
    reason = forms.CharField(max_length=LONG, required=False)
    nearest_yes = forms.CharField(max_length=LONG, required=False)
    question = forms.CharField(max_length=LONG, required=False)
    into = forms.CharField(max_length=24, required=False)
    other = forms.CharField(max_length=24, required=False)
    sleep = forms.CharField(max_length=12, required=False)
    until = forms.DateTimeField(required=False)
    to = forms.CharField(max_length=150, required=False)


def read_verdict(verb: str, data: Any, by: User) -> tuple[int, dict[str, Any]]:
    """The version that was looked at, and what the verb takes. Invalid by field."""
    form = VerdictForm(data)
    if not form.is_valid():
        raise Invalid({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    typed = form.cleaned_data
    if verb == "offer":
        return typed["version"], {"note": typed["note"], **_offered(data)}
    reader = _READERS.get(verb, _plain)
    return typed["version"], reader(typed, by)


def _offered(data: Any) -> dict[str, Any]:
    """Its fields are named after the lines, which the verb knows."""
    return {"proposals": partial(read_proposals, data), "expires_at": read_expiry(data)}


def _plain(typed: dict[str, Any], by: User) -> dict[str, Any]:
    return {name: typed[name] for name in ("note", "reason_code", "reason", "nearest_yes", "question")}


def _duplicate(typed: dict[str, Any], by: User) -> dict[str, Any]:
    """The number that was typed wins over the one that was chosen."""
    ref = (typed["other"] or typed["into"]).strip().upper()
    if not ref:
        raise Invalid({"into": ["Choose the request that takes this one over."]})
    try:
        return {"into": Ticket.objects.visible_to(by).select_related("team").by_ref(ref)}
    except NotFound as problem:
        raise Invalid({"into": [problem.message]}) from problem


def _snooze(typed: dict[str, Any], by: User) -> dict[str, Any]:
    until: datetime | None = typed["until"]
    known, moment = sleep_until(typed["sleep"] or ("at" if until else ""), until)
    if not known:
        raise Invalid({"sleep": ["Choose until when."]})
    return {"until": moment, "reason": typed["reason"]}


def _assign(typed: dict[str, Any], by: User) -> dict[str, Any]:
    name = typed["to"].strip()
    if name == "nobody":
        return {"to": None}
    person = by if name in ("", "me") else User.objects.filter(username=name, is_active=True).first()
    if person is None:
        raise Invalid({"to": ["There is no such person."]})
    return {"to": person}


_READERS: dict[str, Callable[[dict[str, Any], User], dict[str, Any]]] = {
    "duplicate": _duplicate,
    "snooze": _snooze,
    "assign": _assign,
}


def today() -> date:
    """The day here and now."""
    return timezone.localdate()


class ShiftForm(forms.Form):
    """Who is on triage duty when."""

    person = forms.ChoiceField(label="Who")
    zone = forms.CharField(
        label="Time zone",
        max_length=40,
        initial="UTC",
        help_text="Such as Europe/Berlin; the hours are its wall clock.",
    )
    since = forms.DateField(label="First day", initial=today, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="Last day", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    weekdays = forms.TypedMultipleChoiceField(
        label="Days",
        coerce=int,
        choices=[(number, name) for number, name in enumerate(WEEKDAYS)],
        widget=forms.CheckboxSelectMultiple,
    )
    begins = forms.TimeField(label="From", initial="09:00", widget=forms.TimeInput(attrs={"type": "time"}))
    ends = forms.TimeField(
        label="To",
        initial="17:00",
        help_text="At or before the begin means the next day.",
        widget=forms.TimeInput(attrs={"type": "time"}),
    )

    def __init__(self, *args: Any, people: list[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        who = self.fields["person"]
        assert isinstance(who, forms.ChoiceField)
        who.choices = [(each.username, each.get_full_name() or each.username) for each in people]


class ReplyForm(forms.Form):
    """A canned text."""

    name = forms.CharField(label="Name", max_length=60)
    use = forms.ChoiceField(label="For", choices=[(use.value, use.label) for use in ReplyUse])
    body = forms.CharField(label="Text", max_length=LONG, widget=forms.Textarea(attrs={"rows": 5}))


class ViewForm(forms.Form):
    """A name for the filters that are set."""

    name = forms.CharField(label="Name", max_length=60)
    shared = forms.BooleanField(label="For the whole desk", required=False)
    query = forms.CharField(max_length=2000, required=False)
