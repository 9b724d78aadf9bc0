"""A form that came too late shows both texts and loses neither."""

from __future__ import annotations

from datetime import time

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from requests_app.clocks.changes import save_calendar
from requests_app.clocks.models import Calendar
from requests_app.tickets.models import Ticket
from requests_app.triage.services import take_ticket
from tests.requests_app.tickets.conftest import desk, ticket

__all__ = ["desk", "ticket"]
pytestmark = pytest.mark.django_db


def test_a_late_decision_keeps_what_the_decider_wrote(ticket: Ticket, triager: User, client: Client) -> None:
    take_ticket(ticket=ticket, version=1, by=triager)
    client.force_login(triager)
    late = client.post(
        f"/desk/{ticket.ref}/decline",
        {"version": "1", "reason_code": "capacity", "reason": "All are <taken>.", "nearest_yes": ""},
    )
    shown = late.content.decode()
    assert late.status_code == 409
    assert "All are &lt;taken&gt;." in shown
    assert 'name="version" value="2"' in shown
    assert f'action="/desk/{ticket.ref}/decline"' in shown


def test_sent_on_top_of_what_is_there_now_it_counts(ticket: Ticket, member: User, client: Client) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(version=4)
    client.force_login(member)
    late = client.post(f"/tickets/{ticket.ref}/withdraw", {"version": "3", "text": "Not needed."})
    assert late.status_code == 409
    again = client.post(f"/tickets/{ticket.ref}/withdraw", {"version": "4", "text": "Not needed."})
    assert again.status_code == 302


def test_both_texts_stand_beside_each_other(team: Team, admin_user: User, client: Client) -> None:
    hours = {"days": [0], "opens": time(9), "closes": time(17), "holidays": [], "teams": []}
    row = save_calendar(slug="", version=0, by=admin_user, name="Nepal", zone="Asia/Kathmandu", **hours)
    Calendar.objects.filter(pk=row.pk).update(version=2, name="Kathmandu office")
    client.force_login(admin_user)
    typed = {"version": "1", "name": "Himalaya", "zone": "Asia/Kathmandu", "days": ["0", "1"]}
    late = client.post(f"/desk/clocks/calendars/{row.slug}/", {**typed, "opens": "09:00", "closes": "17:00"})
    shown = late.content.decode()
    assert late.status_code == 409
    assert "Himalaya" in shown
    assert "Kathmandu office" in shown
    saved = client.post(
        f"/desk/clocks/calendars/{row.slug}/",
        {**typed, "version": "2", "opens": "09:00", "closes": "17:00"},
    )
    assert saved.status_code == 302
    row.refresh_from_db()
    assert (row.name, row.days) == ("Himalaya", [0, 1])


def test_a_refusal_of_another_kind_shows_no_form(ticket: Ticket, triager: User, client: Client) -> None:
    client.force_login(triager)
    refused = client.post(f"/desk/{ticket.ref}/ask-back", {"version": "1", "question": ""})
    assert refused.status_code == 422
    assert "What you typed is still here" not in refused.content.decode()
