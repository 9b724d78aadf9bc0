"""Scenario 2: a far-from-focus ask gets a workaround and a project; nobody forgets the project."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, Refused
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import close_ticket
from requests_app.triage.services import approve_ticket, decline_ticket, deliver_ticket
from requests_app.workarounds.replacing import move_replacement
from requests_app.workarounds.services import call_proper, mark_applied
from tests.requests_app.workarounds.builders import Calendar, a_quota_workaround, a_workaround, near_ticket

pytestmark = pytest.mark.django_db


def delivered(ticket: Ticket, by: User) -> Ticket:
    ticket.refresh_from_db()
    approved = approve_ticket(ticket=ticket, version=ticket.version, by=by)
    return deliver_ticket(ticket=approved, version=approved.version, note="Use the old share.", by=by)


def test_far_ask_is_not_declined_without_a_reason(ticket: Ticket, triager: User) -> None:
    with pytest.raises(Invalid):
        decline_ticket(ticket=ticket, version=ticket.version, reason_code="focus", reason=" ", by=triager)


def test_workaround_for_a_far_ask_has_its_project_from_the_same_moment(ticket: Ticket, triager: User) -> None:
    given = a_workaround(ticket, triager)
    project = given.replacement
    assert project is not None
    assert list(project.tickets.all()) == [ticket]
    assert 0 < (project.target_on - given.created_at.date()).days <= 92
    assert project.milestones.count() == 3


def test_closing_without_a_project_is_refused_and_says_what_would_settle_it(
    ticket: Ticket, member: User, triager: User
) -> None:
    given = a_workaround(ticket, triager)
    mark_applied(workaround=given, version=given.version, by=triager)
    assert given.replacement is not None
    move_replacement(
        replacement=given.replacement, version=1, action="drop", reason="Nobody has time.", by=triager
    )
    done = delivered(ticket, triager)
    with pytest.raises(Refused) as refusal:
        close_ticket(ticket=done, version=done.version, by=member)
    assert refusal.value.code == "workaround-without-project"
    assert given.ref in refusal.value.message


def test_closing_is_allowed_when_the_workaround_was_called_proper(
    ticket: Ticket, member: User, triager: User
) -> None:
    given = a_workaround(ticket, triager)
    assert given.replacement is not None
    move_replacement(replacement=given.replacement, version=1, action="drop", reason="No need.", by=triager)
    call_proper(workaround=given, version=given.version, because="The old share stays for good.", by=triager)
    done = delivered(ticket, triager)
    assert close_ticket(ticket=done, version=done.version, by=member).status == "closed"


def test_closing_is_allowed_while_the_project_lives(ticket: Ticket, member: User, triager: User) -> None:
    a_workaround(ticket, triager)
    done = delivered(ticket, triager)
    assert close_ticket(ticket=done, version=done.version, by=member).status == "closed"


def test_near_ask_closes_only_with_a_project_too(
    calendar: Calendar, ticket: Ticket, team: Team, member: User, triager: User
) -> None:
    near = near_ticket(team, member)
    assert not near.offering_version.is_far_from_focus
    given = a_quota_workaround(near, triager)
    assert given.replacement is None
    done = delivered(near, triager)
    with pytest.raises(Refused, match="nothing replaces"):
        close_ticket(ticket=done, version=done.version, by=member)
