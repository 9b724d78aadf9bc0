"""What do the small pages about blocks ask? Facts, names of people, and what is owed on a day; never a priority."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from provisioning import interface
from requests_app.blocks import rules
from requests_app.blocks.models import BlockInterval
from requests_app.blocks.services import BlockClaim


class BlockedForm(forms.Form):
    """Ten seconds: what, since when, who, how many GPUs. Everything but the first has an answer already."""

    use_required_attribute = False

    what = forms.CharField(
        label="What stops you?",
        max_length=rules.LONGEST_WHAT,
        widget=forms.Textarea(attrs={"rows": 2, "autofocus": True}),
    )
    since = forms.DateTimeField(
        label="Since when? (UTC)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    people = forms.IntegerField(label="People who can't work", min_value=0, max_value=rules.MOST_PEOPLE)
    idle_gpus = forms.IntegerField(label="GPUs that stand idle", min_value=0, max_value=rules.MOST_GPUS)
    resource = forms.ChoiceField(label="Which GPUs?", required=False)
    who = forms.MultipleChoiceField(
        label="Who can't work?",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each of them is asked for one click; who confirms counts more than who is only counted.",
    )

    def __init__(
        self, data: QueryDict | None = None, *, team: Team, block: BlockInterval | None = None
    ) -> None:
        initial = _facts(block) if block else {"since": now(), "people": 1, "idle_gpus": 0}
        super().__init__(data, initial=initial)
        self.block = block
        self.fields["since"].disabled = block is not None
        self._offer_choices(team)

    def _offer_choices(self, team: Team) -> None:
        clusters = [(c.ref, f"{c.name} ({c.gpus} GPUs)") for c in interface.clusters_of(team.slug)]
        skus = [(sku.slug, sku.name) for sku in interface.skus()]
        people = User.objects.filter(memberships__team=team).order_by("username")
        resource, who = self.fields["resource"], self.fields["who"]
        assert isinstance(resource, forms.ChoiceField)
        assert isinstance(who, forms.MultipleChoiceField)
        resource.choices = [("", "not said"), *clusters, *skus]
        who.choices = [(user.username, user.get_full_name() or user.username) for user in people]

    def clean(self) -> dict[str, Any]:
        """Hold the facts to the same rules as the API does; since when is judged once, when the block begins."""
        data = super().clean() or self.cleaned_data
        facts = {**data, "since": now() if self.block else data.get("since")}
        for name, said in rules.complaints(facts, now=now()).items():
            if name not in self.errors:
                self.add_error(name, said)
        return data

    @property
    def claim(self) -> BlockClaim:
        """The facts as services take them."""
        return BlockClaim(**{name: self.cleaned_data[name] for name in rules.FACTS})


def _facts(block: BlockInterval) -> dict[str, Any]:
    return {
        "since": block.started_at,
        "what": block.what,
        "people": block.people,
        "idle_gpus": block.idle_gpus,
        "resource": block.resource,
        "who": list(block.persons.values_list("user__username", flat=True)),
    }


class OwedForm(forms.Form):
    """What is owed on a day, and who vouches for it."""

    use_required_attribute = False

    what = forms.CharField(
        label="What is owed?", max_length=200, widget=forms.TextInput(attrs={"autofocus": True})
    )
    due_on = forms.DateField(label="On which day?", widget=forms.DateInput(attrs={"type": "date"}))
    loss_per_day = forms.IntegerField(
        label="What is a day of delay worth?",
        min_value=1,
        help_text="In GPU-hours; your sponsor confirms it.",
    )
    lead_days = forms.IntegerField(
        label="How long before does it matter?", min_value=1, max_value=90, initial=14
    )
    sponsor = forms.CharField(
        label="Who outside your team vouches for it?",
        max_length=150,
        help_text="A user name. It counts when this person has said yes.",
    )
