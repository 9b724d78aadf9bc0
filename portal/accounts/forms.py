"""What is asked of people about themselves, their teams and their tokens? Shape only; the services decide."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms

from portal.accounts.access import SAYS, Scope, TeamRole, scopes_for
from portal.accounts.models import User
from portal.accounts.services import LONGEST_TOKEN_DAYS, USUAL_TOKEN_DAYS
from portal.kernel.errors import Invalid


def take_complaints(form: forms.BaseForm, problem: Invalid) -> None:
    """Put a service's complaints beside the fields they are about."""
    for name, texts in problem.fields.items():
        for text in texts:
            form.add_error(name if name in form.fields else None, text)


class SignInForm(forms.Form):
    """User name and password."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "username",
                "autocapitalize": "none",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
    )
    password = forms.CharField(
        label="Password",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class ProfileForm(forms.Form):
    """What a person says of themselves."""

    full_name = forms.CharField(
        label="Full name",
        required=False,
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    time_zone = forms.ChoiceField(
        label="Time zone", required=False, help_text="Every time on every page is shown in it."
    )
    ssh_public_keys = forms.CharField(
        label="Public SSH keys",
        required=False,
        max_length=50_000,
        strip=False,
        help_text="One a line, as in your .pub file. They are put on the nodes of your teams' clusters.",
        widget=forms.Textarea(
            attrs={"rows": 5, "class": "mono", "spellcheck": "false", "autocomplete": "off"}
        ),
    )

    def __init__(self, *args: Any, portal_zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zones = sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC")
        zone_field = self.fields["time_zone"]
        assert isinstance(zone_field, forms.ChoiceField)
        zone_field.choices = [("", f"As the portal ({portal_zone})"), *((zone, zone) for zone in zones)]

    @staticmethod
    def initial_of(user: User) -> dict[str, str]:
        """The fields as the person left them."""
        return {
            "full_name": user.get_full_name(),
            "time_zone": user.time_zone,
            "ssh_public_keys": user.ssh_public_keys,
        }


class MemberForm(forms.Form):
    """Whom a lead takes into the team."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    role = forms.ChoiceField(
        label="As", choices=[(TeamRole.MEMBER.value, "member"), (TeamRole.LEAD.value, "lead")]
    )


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        label="Name", max_length=80, help_text="Where it is used, for example: nightly training launcher."
    )
    scopes = forms.MultipleChoiceField(label="It may", widget=forms.CheckboxSelectMultiple)
    days = forms.IntegerField(
        label="It ends after",
        min_value=1,
        max_value=LONGEST_TOKEN_DAYS,
        initial=USUAL_TOKEN_DAYS,
        help_text=f"At most {LONGEST_TOKEN_DAYS}.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = self.fields["scopes"]
        assert isinstance(scopes, forms.MultipleChoiceField)
        scopes.choices = [(scope.value, f"{SAYS[scope]} ({scope})") for scope in scopes_for(user.staff_role)]
        scopes.initial = [Scope.REQUESTS_READ.value, Scope.REQUESTS_WRITE.value]
        self.fields["days"].unit = "days"  # type: ignore[attr-defined]  # parts/field.html reads it
