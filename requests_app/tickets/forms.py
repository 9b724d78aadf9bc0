"""What do pages of a ticket ask? Whether the team is blocked, and short texts with the version that was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.blocks import rules
from requests_app.catalogue import texts


class BlockForm(forms.Form):
    """Facts about a block. They are asked of everybody, and make no one's priority by themselves."""

    prefix = "blocked"
    use_required_attribute = False

    is_blocked = forms.BooleanField(
        label="We are blocked until this is done",
        required=False,
        help_text="Say the facts; they decide how soon it is your turn, and are shown to you and to the desk.",
    )
    since = forms.DateTimeField(
        label="Since when? (UTC)",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    people = forms.IntegerField(label="People who can't work", required=False, initial=1, min_value=0)
    idle_gpus = forms.IntegerField(
        label="GPUs that stand idle because of it", required=False, initial=0, min_value=0
    )
    who = forms.MultipleChoiceField(
        label="Who can't work?",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each of them is asked for one click; who confirms counts more than who is only counted.",
    )
    what = forms.CharField(
        label="What stops you?",
        required=False,
        max_length=rules.LONGEST_WHAT,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, people: Iterable[User] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(each.username, each.get_full_name() or each.username) for each in people]
        who = self.fields["who"]
        assert isinstance(who, forms.MultipleChoiceField)
        who.choices = names
        if not names:
            del self.fields["who"]

    def clean(self) -> dict[str, Any]:
        """Hold the facts to the same rules as the API does."""
        data = super().clean() or self.cleaned_data
        if data.get("is_blocked"):
            for name, said in rules.complaints(self._facts(data), now=now()).items():
                if name not in self.errors:
                    self.add_error(name, said)
        return data

    @staticmethod
    def _facts(data: dict[str, Any]) -> dict[str, Any]:
        facts = {name: data.get(name) for name in ("since", "people", "idle_gpus", "what")}
        return {**facts, "who": data["who"]} if data.get("who") else facts

    @property
    def claim(self) -> dict[str, Any] | None:
        """The facts as services take them, None when the team isn't blocked."""
        return self._facts(self.cleaned_data) if self.cleaned_data.get("is_blocked") else None


class SayForm(forms.Form):
    """One text that a person writes; services tidy and judge it."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 3, "maxlength": texts.LONG}), strip=False)
    internal = forms.BooleanField(required=False)
