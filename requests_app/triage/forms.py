"""What may a decider type? One form per decision; the version says which ticket was looked at."""

from __future__ import annotations

from django import forms

from requests_app.triage.reasons import REASONS


class Decision(forms.Form):
    """Every decision names the version it was made on."""

    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class ApproveForm(Decision):
    """Yes; quantities per line are read by name: `granted-1`."""

    note = forms.CharField(max_length=5000, required=False, widget=forms.Textarea(attrs={"rows": 2}))

    def granted(self) -> dict[int, int]:
        """Line position -> quantity, for the lines that were typed."""
        found: dict[int, int] = {}
        for name, text in self.data.items():
            head, _, position = name.partition("-")
            if head == "granted" and _is_number(position) and _is_number(str(text).strip()):
                found[int(position)] = int(str(text).strip()[:9])
        return found


class DeclineForm(Decision):
    """No, with a reason as data and the nearest yes."""

    reason_code = forms.ChoiceField(choices=list(REASONS.items()))
    reason = forms.CharField(max_length=5000, widget=forms.Textarea(attrs={"rows": 2}))
    nearest_yes = forms.CharField(max_length=5000, required=False, widget=forms.Textarea(attrs={"rows": 2}))


class AskBackForm(Decision):
    """A question to the team."""

    question = forms.CharField(max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))


class DeliverForm(Decision):
    """How to use what was made by hand."""

    note = forms.CharField(max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))

    def positions(self) -> frozenset[int] | None:
        """The lines that were ticked, named `deliver-3`; None when the form has no such boxes."""
        if "deliver-lines" not in self.data:
            return None
        heads = (name.partition("-") for name in self.data)
        return frozenset(int(said) for head, _, said in heads if head == "deliver" and _is_number(said))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
