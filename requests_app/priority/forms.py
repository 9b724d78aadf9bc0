"""What do people type who overrule a rank, or change the rule?"""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from requests_app.priority.models import PriorityPolicy
from requests_app.priority.policy_rules import CONSTANTS, LONGEST_REASON


class Seen(forms.Form):
    """Every override names the version it was made on."""

    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class PinForm(Seen):
    """By how much, and why."""

    hours = forms.FloatField()
    reason = forms.CharField(max_length=5000)


class EffortForm(Seen):
    """Infra-hours to first relief; empty goes back to the offering's figure."""

    hours = forms.DecimalField(max_digits=6, decimal_places=2, required=False)


class ExpediteForm(Seen):
    """Why it can't wait in the queue."""

    reason = forms.CharField(max_length=5000)


class PolicyForm(forms.Form):
    """The constants of a new version, and why it is made."""

    use_required_attribute = False

    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Why?",
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Everybody can read this.",
    )

    def __init__(self, data: QueryDict | None = None, *, policy: PriorityPolicy) -> None:
        initial = {constant.name: f"{getattr(policy, constant.name):g}" for constant in CONSTANTS}
        super().__init__(data, initial={"seen": policy.number, **initial})
        for constant in CONSTANTS:
            field = forms.FloatField(
                label=constant.label,
                help_text=constant.says,
                widget=forms.NumberInput(attrs={"step": "any"}),
            )
            field.unit = constant.unit  # type: ignore[attr-defined]
            self.fields[constant.name] = field
        self.order_fields([constant.name for constant in CONSTANTS])

    @property
    def constants(self) -> dict[str, Any]:
        """The numbers alone."""
        return {constant.name: self.cleaned_data[constant.name] for constant in CONSTANTS}
