"""What does a person fill in to set a credential? Its value is asked for and never shown."""

from __future__ import annotations

from typing import Any

from django import forms

from provisioning.credentials.models import Kind
from provisioning.jobs.playbooks import REGISTRY


class CredentialForm(forms.Form):
    """One credential; the services say what can't be."""

    name = forms.CharField(
        max_length=60, help_text="Small letters, digits and hyphens. One that is there gets the new value."
    )
    kind = forms.ChoiceField(choices=Kind.choices)
    variable = forms.CharField(
        max_length=100,
        required=False,
        help_text="For variables: API_TOKEN in the environment, api_token in a playbook.",
    )
    value = forms.CharField(
        strip=False,
        help_text="It is sealed, handed to jobs alone, and never shown again.",
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false"}),
    )
    playbooks = forms.MultipleChoiceField(required=False, help_text="None chosen means all.")
    nodes = forms.CharField(
        required=False, max_length=20_000, help_text="Names of nodes, separated by spaces; empty means all."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["playbooks"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, book.title) for name, book in REGISTRY.items()]

    def told(self) -> dict[str, Any]:
        """What the service wants."""
        return {**self.cleaned_data, "nodes": self.cleaned_data["nodes"].replace(",", " ").split()}
