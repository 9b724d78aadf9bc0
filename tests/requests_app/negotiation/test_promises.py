"""A promised day never moves silently, and the first one is what is measured."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.negotiation.due import keep_due_promises, overdue_promises, promise_rate
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.promises import cancel_promise, keep_promise, move_promise
from requests_app.negotiation.services import accept_offer
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from tests.builders import H100
from tests.requests_app.negotiation.conftest import FakeJudge, day, run_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def promised(ask: Ticket, offer: Offer, member: User, fake_judge: FakeJudge) -> Promise:
    """Four nodes are delivered, the fifth is promised in twelve days."""
    accept_offer(offer=offer, revision=1, by=member)
    run_order(ask.lines.get().order_ref)
    ask.refresh_from_db()
    assert ask.status == "promised"
    return Promise.objects.get()


def has_come(promise: Promise, days: int = 0) -> None:
    """As if the promised day were so many days ago."""
    on = now().date() - timedelta(days=days)
    Promise.objects.filter(pk=promise.pk).update(due_on=on, first_due_on=on)
    promise.refresh_from_db()


def test_moved_promise_is_another_one_with_a_reason(promised: Promise, ask: Ticket, triager: User) -> None:
    moved = move_promise(
        promise=promised, version=promised.version, due_on=day(20), reason="A late delivery.", by=triager
    )
    promised.refresh_from_db()
    assert (promised.status, promised.due_on) == ("moved", day(12))
    assert (moved.replaces, moved.due_on, moved.first_due_on) == (promised, day(20), day(12))
    assert moved.hold == promised.hold
    assert ask.lines.get().promised_on == day(20)
    told = Event.objects.get(name="promise.moved").payload
    assert (told["was"], told["due_on"], told["reason"]) == (
        day(12).isoformat(),
        day(20).isoformat(),
        "A late delivery.",
    )


@pytest.mark.parametrize(("days", "reason"), [(20, "  "), (12, "The same."), (-1, "The past.")])
def test_promise_does_not_move_without_a_reason_or_to_no_new_day(
    promised: Promise, triager: User, days: int, reason: str
) -> None:
    with pytest.raises(Invalid):
        move_promise(promise=promised, version=promised.version, due_on=day(days), reason=reason, by=triager)


def test_only_triagers_steer_promises_and_a_stale_page_is_told(
    promised: Promise, lead: User, triager: User
) -> None:
    with pytest.raises(NotAllowed):
        keep_promise(promise=promised, version=promised.version, by=lead)
    seen = promised.version
    move_promise(promise=promised, version=seen, due_on=day(20), reason="Late.", by=triager)
    with pytest.raises(LostRace, match="it is moved now"):
        keep_promise(promise=promised, version=seen, by=triager)


def test_due_promise_places_its_order_by_itself(promised: Promise, ask: Ticket, desk: Team) -> None:
    assert keep_due_promises() == 0
    has_come(promised)
    assert (keep_due_promises(), keep_due_promises()) == (1, 0)
    promised.refresh_from_db()
    ask.refresh_from_db()
    assert (promised.status, ask.status) == ("keeping", "provisioning")
    run_order(promised.order_ref)
    promised.refresh_from_db()
    ask.refresh_from_db()
    assert (promised.status, ask.status) == ("kept", "ready")
    assert drifts() == []


def test_order_that_fails_leaves_the_promise_standing_with_its_quota(
    promised: Promise, ask: Ticket, desk: Team, triager: User
) -> None:
    keep_promise(promise=promised, version=promised.version, by=triager)
    promised.refresh_from_db()
    run_order(promised.order_ref, fails=True)
    promised.refresh_from_db()
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (promised.status, promised.order_ref, ask.status) == ("open", "", "promised")
    assert (line.delivered_qty, line.promised_qty, line.ordered_qty) == (4, 1, 0)
    assert (room_for(desk, H100).used, room_for(desk, H100).held) == (32, 8)
    assert Event.objects.filter(name="promise.failed").count() == 1
    assert drifts() == []


def test_what_is_refused_is_tried_again_later_and_not_every_minute(promised: Promise, ask: Ticket) -> None:
    from provisioning.fleet.models import Node

    has_come(promised)
    Node.objects.filter(status="free").update(status="quarantined")
    assert keep_due_promises() == 0
    promised.refresh_from_db()
    assert promised.tried_at is not None
    Node.objects.filter(status="quarantined").update(status="free")
    assert keep_due_promises() == 0
    Promise.objects.update(tried_at=now() - timedelta(hours=2))
    assert keep_due_promises() == 1


def test_promise_is_not_kept_while_another_order_of_its_line_runs(
    ask: Ticket, offer: Offer, member: User, triager: User
) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    promise = Promise.objects.get()
    with pytest.raises(Conflict, match="still runs"):
        keep_promise(promise=promise, version=promise.version, by=triager)


def test_first_part_that_fails_takes_its_promise_with_it(
    ask: Ticket, offer: Offer, desk: Team, member: User, fake_judge: FakeJudge
) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    run_order(ask.lines.get().order_ref, fails=True)
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (ask.status, line.verdict, line.round) == ("returned", "pending", 2)
    assert Promise.objects.get().status == "cancelled"
    assert room_for(desk, H100).held == 0
    kept = line.decisions.get()
    assert (kept.round, kept.verdict, kept.granted_qty) == (1, "granted", 5)
    assert drifts() == []


def test_cancelled_promise_frees_its_quota_and_the_rest_stays(
    promised: Promise, ask: Ticket, desk: Team, triager: User
) -> None:
    cancel_promise(promise=promised, version=promised.version, reason="The team agreed.", by=triager)
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (ask.status, line.delivered_qty, line.given_up_qty, line.granted_qty) == ("ready", 4, 1, 5)
    assert (room_for(desk, H100).used, room_for(desk, H100).held) == (32, 0)


def test_overdue_promises_are_seen_by_the_desk_and_by_the_team(
    promised: Promise, triager: User, member: User, stranger: User
) -> None:
    assert list(overdue_promises(triager)) == []
    has_come(promised, days=1)
    assert list(overdue_promises(triager)) == [promised]
    assert list(overdue_promises(member)) == [promised]
    assert list(overdue_promises(stranger)) == []


def test_rate_counts_the_first_day_not_the_moved_one(promised: Promise, triager: User) -> None:
    today = now().date()
    moved = move_promise(
        promise=promised, version=promised.version, due_on=day(20), reason="Late.", by=triager
    )
    Promise.objects.update(first_due_on=today - timedelta(days=1))
    keep_promise(promise=moved, version=moved.version, by=triager)
    moved.refresh_from_db()
    run_order(moved.order_ref)
    rate = promise_rate(today - timedelta(days=30), today)
    assert (rate.due, rate.kept, rate.share) == (1, 0, 0.0)
    assert Event.objects.get(name="promise.kept").payload["on_time"] is False


def test_kept_on_its_day_counts_and_nothing_due_is_no_rate(promised: Promise, triager: User) -> None:
    today = now().date()
    assert promise_rate(today, today + timedelta(days=1)).share is None
    has_come(promised)
    keep_due_promises()
    promised.refresh_from_db()
    run_order(promised.order_ref)
    assert promise_rate(today, today + timedelta(days=1)).share == 1.0
