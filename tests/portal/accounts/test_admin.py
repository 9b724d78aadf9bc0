"""What may be changed by hand in the admin site?"""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from portal.accounts.models import ApiToken, Team, User
from portal.accounts.services import issue_token
from portal.admin import CHANGEABLE, HOUSES, ReadOnly, is_shown

MODELS = [model for house in HOUSES for model in apps.get_app_config(house).get_models()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_is_shown_and_only_people_and_teams_are_changed(model: type) -> None:
    if not is_shown(model):
        assert model not in admin.site._registry
        return
    assert isinstance(admin.site._registry[model], ReadOnly) == (model not in CHANGEABLE)


@pytest.mark.parametrize("model", [m for m in MODELS if is_shown(m)], ids=lambda model: model.__name__)
def test_admin_opens_every_list(client: Client, admin_user: User, model: type) -> None:
    client.force_login(admin_user)
    meta = model._meta
    assert client.get(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")).status_code == 200


def test_admin_adds_deletes_and_changes_no_token(client: Client, admin_user: User) -> None:
    token, _ = issue_token(name="mine", scopes=["requests:read"], by=admin_user)
    client.force_login(admin_user)
    assert client.get(reverse("admin:portal_apitoken_add")).status_code == 403
    assert (
        client.post(reverse("admin:portal_apitoken_delete", args=[token.pk]), {"post": "yes"}).status_code
        == 403
    )
    page = client.get(reverse("admin:portal_apitoken_change", args=[token.pk])).content.decode()
    assert ApiToken.objects.get(pk=token.pk).secret_hash not in page


def test_team_keeps_its_slug(client: Client, admin_user: User, team: Team) -> None:
    client.force_login(admin_user)
    page = client.get(reverse("admin:portal_team_change", args=[team.pk])).content.decode()
    assert 'name="slug"' not in page
    assert 'name="name"' in page


@pytest.mark.parametrize("persona", ["member", "lead"])
def test_customer_does_not_get_in(client: Client, request: pytest.FixtureRequest, persona: str) -> None:
    client.force_login(request.getfixturevalue(persona))
    assert client.get("/admin/").status_code == 302
