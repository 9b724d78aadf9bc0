"""What can be taken back is back as it was; what has gone on since is said, and stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, NotFound
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.clocks.queries import clocks_of
from requests_app.relations.models import Relation
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import answer_ticket, comment
from requests_app.triage.acts import Done, act
from requests_app.triage.models import Snooze, Undo
from requests_app.triage.services import ask_back
from requests_app.triage.undo import forget_old, newest_undo, snapshot, take_back
from tests.builders import a_cluster_ask
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import an_ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return an_ask(desk, member)


def do(verb: str, ticket: Ticket, by: User, **given: Any) -> Done:
    ticket.refresh_from_db()
    return act(verb=verb, ticket=ticket, version=ticket.version, given=given, by=by)


def given_for(verb: str, ask: Ticket) -> dict[str, Any]:
    other = an_ask(ask.team, ask.requester, "Jobs hang as well")
    return {
        "accept": {},
        "decline": {"reason_code": "focus"},
        "duplicate": {"into": other},
        "snooze": {"until": now() + timedelta(hours=2)},
        "assign": {"to": a_user("second", staff_role="triager")},
        "ask": {"question": "Which share?"},
    }[verb]


@pytest.mark.parametrize("verb", ["accept", "decline", "duplicate", "snooze", "assign", "ask"])
def test_every_verdict_that_can_be_taken_back_leaves_no_trace_but_the_ledgers(
    ask: Ticket, triager: User, verb: str
) -> None:
    before, rank = snapshot(ask), ask.rank_key
    done = do(verb, ask, triager, **given_for(verb, ask))
    assert done.undo is not None
    assert snapshot(Ticket.objects.get(pk=ask.pk)) != before
    take_back(undo_id=done.undo.pk, by=triager)
    deliver_all()
    ask.refresh_from_db()
    assert snapshot(ask) == before
    assert ask.rank_key == rank
    assert not Relation.objects.exists()
    assert not Snooze.objects.filter(ended_at=None).exists()
    told = Event.objects.get(name="ticket.undone")
    assert told.payload["undoes"] == done.undo.events
    assert len(done.undo.events) >= 1


def test_decline_of_a_ticket_that_waited_goes_back_to_waiting(ask: Ticket, triager: User) -> None:
    ask_back(ticket=ask, version=ask.version, question="Which share?", by=triager)
    ask.refresh_from_db()
    before = snapshot(ask)
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    take_back(undo_id=done.undo.pk, by=triager)
    ask.refresh_from_db()
    assert ask.status == "waiting"
    assert snapshot(ask) == before


def test_undo_after_the_window_is_refused_and_changes_nothing(ask: Ticket, triager: User) -> None:
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    Undo.objects.update(until=now() - timedelta(seconds=3))
    with pytest.raises(Conflict, match="are over"):
        take_back(undo_id=done.undo.pk, by=triager)
    ask.refresh_from_db()
    assert ask.status == "declined"


def test_somebody_else_has_nothing_to_take_back(ask: Ticket, triager: User) -> None:
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    with pytest.raises(NotFound):
        take_back(undo_id=done.undo.pk, by=a_user(staff_role="triager"))


def test_what_the_team_did_since_wins(ask: Ticket, triager: User, member: User) -> None:
    done = do("ask", ask, triager, question="Which share?")
    assert done.undo is not None
    answer_ticket(ticket=done.ticket, version=done.ticket.version, answer="The first.", by=member)
    with pytest.raises(Conflict, match="has gone on since: it is submitted"):
        take_back(undo_id=done.undo.pk, by=triager)


def test_a_comment_since_is_something_that_happened(ask: Ticket, triager: User, member: User) -> None:
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    comment(ticket=done.ticket, body="Why?", by=member)
    with pytest.raises(Conflict):
        take_back(undo_id=done.undo.pk, by=triager)


def test_twice_is_once(ask: Ticket, triager: User) -> None:
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    take_back(undo_id=done.undo.pk, by=triager)
    with pytest.raises(Conflict, match="already"):
        take_back(undo_id=done.undo.pk, by=triager)


def test_approved_order_is_not_taken_back_but_can_be_cancelled(
    desk: Team, member: User, triager: User
) -> None:
    cluster = a_cluster_ask(desk, member)
    done = do("accept", cluster, triager)
    assert done.undo is None
    assert done.orders[0].startswith("O-")


def test_only_the_newest_act_is_offered(ask: Ticket, triager: User) -> None:
    do("assign", ask, triager, to=triager)
    newer = do("decline", ask, triager, reason_code="focus")
    found = newest_undo(triager)
    assert (found, found.verb if found else "") == (newer.undo, "decline")
    Undo.objects.update(until=now() - timedelta(seconds=1))
    assert newest_undo(triager) is None


def test_decline_without_words_says_the_reason_in_words(ask: Ticket, triager: User) -> None:
    do("decline", ask, triager, reason_code="capacity")
    ask.refresh_from_db()
    assert ask.reason == "There are not enough healthy nodes."


def test_clocks_forget_what_was_taken_back(ask: Ticket, triager: User) -> None:
    before = [each.is_running for each in clocks_of(ask).readings]
    done = do("decline", ask, triager, reason_code="focus")
    assert done.undo is not None
    take_back(undo_id=done.undo.pk, by=triager)
    ask.refresh_from_db()
    assert [each.is_running for each in clocks_of(ask).readings] == before


def test_what_nobody_can_take_back_any_more_is_forgotten(ask: Ticket, triager: User) -> None:
    do("assign", ask, triager, to=triager)
    assert forget_old() == 0
    Undo.objects.update(until=now() - timedelta(days=2))
    assert forget_old() == 1
