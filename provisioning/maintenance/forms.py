"""The form of a run: nodes, waves, and one field for each variable of the playbook, made from the variable's type."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

from django import forms

from provisioning.fleet.listing import OUT, NodeFilter
from provisioning.fleet.models import Node, Rack, Sku
from provisioning.fleet.sites import NOWHERE
from provisioning.fleet.states import NodeState
from provisioning.jobs.playbooks import Playbook
from provisioning.maintenance.services import Wanted, read_waves

VARIABLE = "v_"
"""What the names of a playbook's variables begin with in the form."""
NARROWED_BY = ("state", "sku", "rack", "site")
"""What nodes that are not named are chosen by."""
_BETWEEN = re.compile(r"[\s,;]+")


class RunForm(forms.Form):
    """A run of one playbook; the fields of its variables come from its registry entry."""

    purpose = forms.CharField(max_length=160, help_text="The list of jobs shows it.")
    nodes = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Nodes by name",
        help_text="In the order in which they go. Or choose them below.",
        max_length=400_000,
    )
    state = forms.ChoiceField(required=False, label="Or all in state")
    sku = forms.ChoiceField(required=False, label="of SKU")
    rack = forms.ChoiceField(required=False, label="in rack")
    site = forms.ChoiceField(required=False, label="at site")
    canary = forms.IntegerField(
        required=False, min_value=0, max_value=5000, help_text="So many nodes first; 0 for none."
    )
    canary_budget = forms.CharField(
        required=False, max_length=8, initial="0", label="of which may fail", help_text="2 or 5%."
    )
    percentages = forms.CharField(
        required=False, max_length=100, label="Then up to, in %", help_text="10 50: of all nodes together."
    )
    budget = forms.CharField(
        required=False, max_length=8, label="of a wave may fail", help_text="2 or 5%, rounded down."
    )
    in_turn = forms.BooleanField(
        required=False,
        label="In turn with what orders need",
        help_text="Otherwise it runs when there is room.",
    )

    def __init__(self, book: Playbook, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.book = book
        self._choices("state", [*NodeState, OUT], words=True)
        self._choices("sku", Sku.objects.order_by("slug").values_list("slug", flat=True))
        self._choices("rack", Rack.objects.order_by("name").values_list("name", flat=True))
        named = Node.objects.exclude(site=NOWHERE).order_by("site")
        self._choices("site", named.values_list("site", flat=True).distinct())
        hints = get_type_hints(book.variables)
        for entry in fields(book.variables):
            self.fields[VARIABLE + entry.name] = variable_field(entry, hints[entry.name])

    def _choices(self, name: str, values: Any, *, words: bool = False) -> None:
        found = self.fields[name]
        assert isinstance(found, forms.ChoiceField)
        found.choices = [
            ("", "–"),
            *((str(value), str(value).replace("_", " ") if words else str(value)) for value in values),
        ]

    @property
    def variables(self) -> list[forms.BoundField]:
        """The fields of the playbook's variables."""
        return [self[name] for name in self.fields if name.startswith(VARIABLE)]

    def clean_percentages(self) -> list[int]:
        """Whole numbers."""
        parts = [part for part in _BETWEEN.split(self.cleaned_data["percentages"].replace("%", " ")) if part]
        if not all(part.isdecimal() and part.isascii() and len(part) < 4 for part in parts):
            raise forms.ValidationError("Use whole numbers, like 10 50.")
        return [int(part) for part in parts]

    def wanted(self) -> Wanted:
        """What was filled in. Raises Invalid for waves that make no sense."""
        told = self.cleaned_data
        return Wanted(
            playbook=self.book.name,
            purpose=told["purpose"],
            variables=self._told(),
            names=[name for name in _BETWEEN.split(told["nodes"]) if name],
            wanted=NodeFilter.read({name: told[name] for name in NARROWED_BY}),
            asked=read_waves(
                {name: told[name] for name in ("canary", "canary_budget", "percentages", "budget")}
            ),
            in_turn=told["in_turn"],
        )

    def _told(self) -> dict[str, Any]:
        """The variables that were given; one that was left empty keeps its default."""
        values: dict[str, Any] = {}
        for name, entry in self.fields.items():
            value = self.cleaned_data.get(name)
            if name.startswith(VARIABLE) and (entry.required or value not in (None, "", [])):
                values[name.removeprefix(VARIABLE)] = value
        return values


def variable_field(entry: Field[Any], kind: Any) -> forms.Field:
    """The field of a playbook's variable, by its type."""
    needed = entry.default is MISSING and entry.default_factory is MISSING
    label = entry.name.replace("_", " ").capitalize()
    initial = None if entry.default is MISSING else entry.default
    if kind is bool:
        return forms.BooleanField(required=False, label=label, initial=initial)
    if kind is int:
        return forms.IntegerField(required=needed, label=label, initial=initial)
    if kind is str:
        return forms.CharField(required=needed, label=label, initial=initial, max_length=200)
    if kind == list[str]:
        return Words(required=needed, label=label, help_text="Words with spaces between; none means all.")
    return Settings(required=needed, label=label, help_text="One NAME=VALUE a line.")


class Words(forms.CharField):
    """A list of words."""

    def to_python(self, value: Any) -> Any:
        """Split at spaces and commas."""
        return [word for word in _BETWEEN.split(value or "") if word]


class Settings(forms.CharField):
    """Names with values, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> Any:
        """`NAME=VALUE` as records."""
        found = []
        for line in (value or "").splitlines():
            name, equals, text = line.strip().partition("=")
            if not equals and name:
                raise forms.ValidationError(f"{name[:60]} has no value: write NAME=VALUE.")
            if name:
                found.append({"name": name.strip(), "value": text.strip()})
        return found
