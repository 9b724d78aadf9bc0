"""What may be typed about workarounds and projects? Forms read what was typed; the services say whether it can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from portal.accounts.access import Action, may
from portal.accounts.models import User
from portal.kernel.errors import Invalid
from provisioning import interface
from requests_app.workarounds.granting import Terms
from requests_app.workarounds.kinds import SAYS, Kind, Risk
from requests_app.workarounds.replacing import Plan
from requests_app.workarounds.said import LONGEST_DAYS

LONG = {"rows": 2}


class VersionForm(forms.Form):
    """Everything names the version it was decided on."""

    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class GrantForm(VersionForm):
    """A workaround. Fields of the other kinds stay empty."""

    kind = forms.ChoiceField(
        label="How do they get moving?",
        choices=[(kind.value, SAYS[kind]) for kind in Kind],
        initial=Kind.MANUAL.value,
        widget=forms.RadioSelect,
    )
    summary = forms.CharField(label="What is it, in a line?", max_length=200)
    steps = forms.CharField(
        label="What is done, and how is it taken back?",
        max_length=5000,
        required=False,
        widget=forms.Textarea(attrs=LONG),
    )
    sku = forms.CharField(label="Kind of node", max_length=40, required=False)
    gpus = forms.IntegerField(label="GPUs more", min_value=1, required=False)
    nodes = forms.IntegerField(label="Nodes to borrow", min_value=1, required=False)
    cluster = forms.CharField(
        label="Cluster", max_length=24, required=False, help_text="Such as C-12; empty borrows a new one."
    )
    remedy = forms.ChoiceField(label="Setting", required=False)
    settings = forms.CharField(
        label="Values", required=False, max_length=4000, widget=forms.Textarea(attrs=LONG)
    )
    days = forms.IntegerField(
        label="For how long?",
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=30,
        help_text="Then it reverts by itself.",
    )
    closure_test = forms.CharField(
        label="How will we know that it is no longer needed?",
        max_length=5000,
        widget=forms.Textarea(attrs=LONG),
    )
    interest_hours = forms.DecimalField(
        label="What does it cost us?", min_value=0, max_value=168, decimal_places=2, initial=1
    )
    residual_percent = forms.IntegerField(
        label="What remains of their loss meanwhile?", min_value=0, max_value=100, initial=30
    )
    risk = forms.ChoiceField(label="Risk", choices=[(risk.value, risk.value) for risk in Risk])
    risk_words = forms.CharField(
        label="What can go wrong?", max_length=5000, required=False, widget=forms.Textarea(attrs=LONG)
    )
    owner = forms.CharField(label="Owner", max_length=150, required=False, help_text="You, when left empty.")
    review_on = forms.DateField(
        label="Look at it again on", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    tag = forms.CharField(
        label="Tag", max_length=60, required=False, help_text="The same tag makes the same class of need."
    )
    with_project = forms.BooleanField(label="Make the project that replaces it", required=False)
    project_title = forms.CharField(label="The project, in a line", max_length=200, required=False)
    target_on = forms.DateField(
        label="Its target",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Within three months; three months when left empty.",
    )

    OF_KIND: Mapping[str, tuple[str, ...]] = {
        Kind.MANUAL: ("steps",),
        Kind.QUOTA: ("sku", "gpus"),
        Kind.NODES: ("sku", "nodes", "cluster"),
        Kind.PLAYBOOK: ("cluster", "remedy", "settings"),
    }

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="workaround-%s", initial=dict(initial or {}))
        remedies = interface.remedies()
        field = self.fields["remedy"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "–"), *((each.name, each.title) for each in remedies)]
        examples = "; ".join(f"{each.title}: {each.example}".replace("\n", ", ") for each in remedies)
        self.fields["settings"].help_text = f"One a line, as name=value. {examples}."
        for name, unit in (
            ("days", "days"),
            ("interest_hours", "hours a week"),
            ("residual_percent", "%"),
            ("gpus", "GPUs"),
            ("nodes", "nodes"),
        ):
            self.fields[name].unit = unit  # type: ignore[attr-defined]

    def terms(self) -> Terms:
        """What was typed, as the service wants it."""
        said = self.cleaned_data
        plan = Plan(title=said["project_title"], target_on=said["target_on"])
        return Terms(
            kind=said["kind"],
            params=self._params(),
            summary=said["summary"],
            closure_test=said["closure_test"],
            days=said["days"],
            owner=infra_named(said["owner"]),
            review_on=said["review_on"],
            interest_hours=said["interest_hours"],
            risk=said["risk"],
            risk_words=said["risk_words"],
            residual=said["residual_percent"] / 100,
            tag=said["tag"],
            with_project=said["with_project"],
            plan=plan,
        )

    def _params(self) -> dict[str, Any]:
        said = self.cleaned_data
        found = {name: said[name] for name in self.OF_KIND[said["kind"]] if said[name] not in (None, "")}
        if "settings" in found:
            found["settings"] = settings_of(found["settings"])
        return found


def settings_of(text: str) -> dict[str, str]:
    """`name=value` lines as a mapping; Invalid names the line that is none."""
    found: dict[str, str] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or name.strip() in found:
            raise Invalid({"settings": [f"{line[:60]!r} is not one name=value, or is there twice."]})
        found[name.strip()] = value.strip()
    return found


def infra_named(username: str) -> User | None:
    """Somebody of infra by user name; None for an empty one, Invalid when there is nobody."""
    if not username:
        return None
    person = User.objects.filter(username=username, is_active=True).first()
    if person is None or not may(person.staff_role, Action.SEE_ALL_TEAMS):
        raise Invalid({"owner": ["Nobody of the infra team is called that."]})
    return person


class RenewForm(VersionForm):
    """One more term. The key makes it happen once."""

    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    key = forms.CharField(max_length=80)
    reason = forms.CharField(max_length=5000, required=False)


class AskRenewalForm(VersionForm):
    """More time, and why."""

    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    reason = forms.CharField(max_length=5000)


class ReasonForm(VersionForm):
    """Why, or how."""

    text = forms.CharField(max_length=5000, required=False)


class InterestForm(forms.Form):
    """What it did cost in one week."""

    day = forms.DateField()
    hours = forms.DecimalField(min_value=0, max_value=168, decimal_places=2)
    note = forms.CharField(max_length=200, required=False)


class MoveForm(VersionForm):
    """What happens to a project."""

    action = forms.CharField(max_length=20)
    reason = forms.CharField(max_length=5000, required=False)


class TargetForm(VersionForm):
    """Another target for a project."""

    target_on = forms.DateField()
    reason = forms.CharField(max_length=5000)


class MilestoneForm(forms.Form):
    """A milestone that is done."""

    position = forms.IntegerField(min_value=1)


class ProjectForm(forms.Form):
    """One project for a class."""

    class_key = forms.CharField(max_length=200)
    title = forms.CharField(max_length=200, required=False)


class CapForm(forms.Form):
    """How many may be open."""

    pillar = forms.CharField(max_length=30)
    most = forms.IntegerField(min_value=0, max_value=1000)


def read(form: forms.Form) -> dict[str, Any]:
    """What was typed; Invalid by field otherwise."""
    if not form.is_valid():
        raise Invalid({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    return dict(form.cleaned_data)
