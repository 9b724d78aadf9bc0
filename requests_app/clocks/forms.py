"""What may an admin type about working hours and goals?"""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import available_timezones

from django import forms

from requests_app.catalogue.models import Offering
from requests_app.catalogue.offering_shape import KINDS
from requests_app.clocks.goals import ClockName

WEEKDAYS = tuple(enumerate(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")))
MOST_HOLIDAYS = 400


class CalendarForm(forms.Form):
    """When people of a calendar work."""

    version = forms.IntegerField(min_value=0, initial=0, widget=forms.HiddenInput)
    name = forms.CharField(max_length=80, label="Name")
    zone = forms.CharField(max_length=40, label="Zone", help_text="Such as Pacific/Auckland.")
    days = forms.TypedMultipleChoiceField(
        choices=WEEKDAYS,
        coerce=int,
        label="Working days",
        widget=forms.CheckboxSelectMultiple,
        initial=[0, 1, 2, 3, 4],
    )
    opens = forms.TimeField(
        label="From", initial="09:00", widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    closes = forms.TimeField(
        label="To",
        initial="17:00",
        help_text="00:00 is the end of the day.",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    holidays = forms.CharField(
        label="Holidays",
        required=False,
        help_text="One date a line, such as 2026-12-25.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    teams = forms.CharField(
        label="Teams",
        required=False,
        help_text="Short names of teams that work by it, one a line.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean_zone(self) -> str:
        """A zone that there is."""
        zone = str(self.cleaned_data["zone"])
        if zone not in available_timezones():
            raise forms.ValidationError("There is no such time zone; write it as Europe/Berlin.")
        return zone

    def clean_holidays(self) -> list[date]:
        """Dates, each once, in order."""
        words = str(self.cleaned_data["holidays"]).split()
        if len(words) > MOST_HOLIDAYS:
            raise forms.ValidationError(f"At most {MOST_HOLIDAYS} dates.")
        try:
            return sorted({date.fromisoformat(word) for word in words})
        except ValueError as problem:
            raise forms.ValidationError("Write each date as 2026-12-25.") from problem

    def clean_teams(self) -> list[str]:
        """Short names, each once."""
        return sorted(set(str(self.cleaned_data["teams"]).split()))

    def clean(self) -> dict[str, Any]:
        """Work ends after it begins, or at midnight."""
        data = super().clean() or self.cleaned_data
        opens, closes = data.get("opens"), data.get("closes")
        if opens and closes and closes.isoformat() != "00:00:00" and closes <= opens:
            self.add_error("closes", "It closes before it opens; 00:00 is the end of the day.")
        return data


class GoalForm(forms.Form):
    """How long a clock may run, for an offering, for a kind, or for everything."""

    clock = forms.ChoiceField(
        choices=[
            (name.value, name.value) for name in (ClockName.ANSWER, ClockName.DECISION, ClockName.UNBLOCK)
        ]
    )
    offering = forms.ModelChoiceField(
        Offering.objects.all(), required=False, to_field_name="slug", empty_label="any", label="Offering"
    )
    kind = forms.ChoiceField(
        choices=[("", "any"), *((kind, kind) for kind in KINDS)], required=False, label="Kind"
    )
    hours = forms.DecimalField(min_value=0, max_value=10_000, max_digits=7, decimal_places=2, label="Hours")
    business = forms.BooleanField(required=False, initial=True, label="Working hours of the team only")

    def clean(self) -> dict[str, Any]:
        """One scope at a time, and a goal that takes time."""
        data = super().clean() or self.cleaned_data
        if data.get("offering") and data.get("kind"):
            self.add_error("kind", "Choose an offering or a kind, not both.")
        if data.get("hours") == 0:
            self.add_error("hours", "A goal takes time.")
        return data
