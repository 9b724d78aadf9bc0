"""What is done to many is done to exactly those that were counted, each told in the ledger, and what failed says why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, Invalid, NotAllowed, PortalError, UnknownParameter
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.triage import bulk
from requests_app.triage.models import BulkRow, BulkRun
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import many_asks

pytestmark = pytest.mark.django_db


@pytest.fixture
def second(db: None) -> User:
    return a_user("second", staff_role="triager")


def run(by: User, verb: str, *, filters: dict[str, str] | None = None, **arguments: str) -> BulkRun:
    frozen = bulk.freeze(filters=filters or {"view": "queue"}, by=by)
    begun = bulk.begin(run=frozen, version=frozen.version, verb=verb, arguments=arguments, by=by)
    bulk.work(begun.pk)
    begun.refresh_from_db()
    return begun


def test_all_2500_that_match_are_changed_and_told_with_what_was_and_is(
    desk: Team, member: User, triager: User, second: User
) -> None:
    rows = many_asks(2_500, desk, member)
    Ticket.objects.filter(pk__in=[row.pk for row in rows[::2]]).update(assignee=triager)
    done = run(triager, "assign", assignee="second")
    assert (done.status, done.total, bulk.progress(done)) == (
        "done",
        2_500,
        {"done": 2_500, "failed": 0, "left": 0},
    )
    assert Ticket.objects.filter(assignee=second).count() == 2_500
    told = Event.objects.filter(name="ticket.assigned")
    assert told.count() == 2_500
    assert told.filter(payload={"assignee": "second", "was": "triager"}).count() == 1_250
    assert told.filter(payload={"assignee": "second", "was": ""}).count() == 1_250
    assert told.filter(actor=triager).count() == 2_500


def test_unknown_filter_freezes_nothing(desk: Team, member: User, triager: User) -> None:
    many_asks(3, desk, member)
    for filters in ({"teem": "vision"}, {"team": "vison"}, {"view": "attic"}, {"assignee": "ghost"}):
        with pytest.raises(UnknownParameter) as refusal:
            bulk.freeze(filters=filters, by=triager)
        assert refusal.value.status == 400
    assert not BulkRun.objects.exists()


def test_row_that_changed_since_the_freeze_is_left_alone_and_says_why(
    desk: Team, member: User, triager: User
) -> None:
    first, second, third = many_asks(3, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    Ticket.objects.filter(pk=second.pk).update(version=7)
    begun = bulk.begin(run=frozen, version=1, verb="decline", arguments={"reason_code": "focus"}, by=triager)
    bulk.work(begun.pk)
    report = dict(BulkRow.objects.filter(run=begun).values_list("ticket_id", "ending"))
    assert report == {first.pk: "done", second.pk: "failed", third.pk: "done"}
    assert "has changed since" in BulkRow.objects.get(ticket=second).said
    assert Ticket.objects.get(pk=second.pk).status == "submitted"


def test_what_comes_after_the_freeze_is_not_touched(desk: Team, member: User, triager: User) -> None:
    many_asks(2, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    (late,) = many_asks(1, desk, member)
    begun = bulk.begin(run=frozen, version=1, verb="tag", arguments={"reason_code": "cost"}, by=triager)
    bulk.work(begun.pk)
    assert Ticket.objects.get(pk=late.pk).reason_code == ""
    assert Event.objects.filter(name="ticket.tagged").count() == 2


def test_run_that_was_cut_off_goes_on_where_it_stopped(desk: Team, member: User, triager: User) -> None:
    many_asks(250, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    begun = bulk.begin(run=frozen, version=1, verb="snooze", arguments={}, by=triager)
    assert not bulk.work(begun.pk, batches=1)
    assert bulk.progress(begun) == {"done": 100, "failed": 0, "left": 150}
    assert bulk.unfinished() == [begun.pk]
    assert bulk.work(begun.pk)
    assert bulk.progress(begun) == {"done": 250, "failed": 0, "left": 0}
    assert Event.objects.filter(name="ticket.snoozed").count() == 250
    assert bulk.unfinished() == []


def test_stopped_run_keeps_what_is_done(desk: Team, member: User, triager: User) -> None:
    many_asks(150, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    begun = bulk.begin(run=frozen, version=1, verb="ask", arguments={"question": "Still needed?"}, by=triager)
    bulk.work(begun.pk, batches=1)
    stopped = bulk.cancel(run=begun, by=triager)
    assert bulk.work(begun.pk)
    assert (stopped.status, bulk.progress(stopped)["left"]) == ("cancelled", 50)
    assert Ticket.objects.filter(status="waiting").count() == 100


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("burn", {}),
        ("decline", {}),
        ("decline", {"reason_code": "because"}),
        ("assign", {"assignee": "member"}),
        ("assign", {"assignee": "triager", "question": "Why?"}),
        ("snooze", {"until": "yesterday"}),
        ("snooze", {"until": "2020-01-01T00:00:00+00:00"}),
        ("ask", {"question": ""}),
    ],
)
def test_verb_that_can_not_be_is_refused_before_anything_begins(
    desk: Team, member: User, triager: User, verb: str, arguments: dict[str, str]
) -> None:
    many_asks(2, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    with pytest.raises(Invalid):
        bulk.begin(run=frozen, version=1, verb=verb, arguments=arguments, by=triager)
    frozen.refresh_from_db()
    assert frozen.status == "frozen"


def test_selection_belongs_to_who_made_it_and_begins_once(
    desk: Team, member: User, triager: User, second: User, operator: User
) -> None:
    many_asks(2, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    given = {"verb": "tag", "arguments": {"reason_code": "cost"}}
    with pytest.raises(Conflict):
        bulk.begin(run=frozen, version=1, **given, by=second)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed):
        bulk.freeze(filters={}, by=operator)
    bulk.begin(run=frozen, version=1, **given, by=triager)  # type: ignore[arg-type]
    with pytest.raises(PortalError):
        bulk.begin(run=frozen, version=1, **given, by=triager)  # type: ignore[arg-type]


def test_page_freezes_shows_and_does(desk: Team, member: User, triager: User, client: Client) -> None:
    rows = many_asks(3, desk, member)
    client.force_login(triager)
    answer = client.post("/desk/bulk/", {"back": "view=queue", "ref": [rows[0].ref, rows[2].ref]})
    frozen = BulkRun.objects.get()
    assert (answer.status_code, frozen.total) == (302, 2)
    assert "Assign all 2" in client.get(answer["Location"]).content.decode()
    begun = client.post(
        f"/desk/bulk/{frozen.pk}/begin", {"version": 1, "verb": "assign", "assign-assignee": "triager"}
    )
    assert begun.status_code == 302
    assert "2 done, 0 left alone, 0 to go" in client.get(answer["Location"]).content.decode()
    assert client.post("/desk/bulk/", {"back": "teem=vision"}).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_every_row_once(desk: Team, member: User, triager: User) -> None:
    many_asks(300, desk, member)
    frozen = bulk.freeze(filters={}, by=triager)
    begun = bulk.begin(run=frozen, version=1, verb="tag", arguments={"reason_code": "cost"}, by=triager)

    def work(_: int) -> None:
        try:
            while not bulk.work(begun.pk) or bulk.unfinished():
                pass
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    assert bulk.progress(begun) == {"done": 300, "failed": 0, "left": 0}
    assert Event.objects.filter(name="ticket.tagged").count() == 300
    assert Event.objects.filter(name="bulk.ended").count() == 1


def test_a_row_more_costs_ten_queries_at_most(desk: Team, member: User, triager: User) -> None:
    def asked(count: int) -> int:
        rows = many_asks(count, desk, member)
        frozen = bulk.freeze(filters={"view": "queue"}, refs=[row.ref for row in rows], by=triager)
        begun = bulk.begin(
            run=frozen, version=frozen.version, verb="decline", arguments={"reason_code": "focus"}, by=triager
        )
        with CaptureQueriesContext(connection) as queries:
            bulk.work(begun.pk)
        assert bulk.progress(begun) == {"done": count, "failed": 0, "left": 0}
        return len(queries)

    assert asked(12) - asked(2) <= 100


def test_row_that_fails_leaves_nothing_and_stops_nobody(desk: Team, member: User, triager: User) -> None:
    rows = many_asks(3, desk, member)
    frozen = bulk.freeze(filters={"view": "queue"}, by=triager)
    Ticket.objects.filter(pk=rows[1].pk).update(version=9)
    begun = bulk.begin(
        run=frozen, version=frozen.version, verb="decline", arguments={"reason_code": "focus"}, by=triager
    )
    bulk.work(begun.pk)
    assert bulk.progress(begun) == {"done": 2, "failed": 1, "left": 0}
    assert Ticket.objects.get(pk=rows[1].pk).status == "submitted"
    assert not Event.objects.filter(subject=rows[1].ref).exists()
    assert "has changed since" in BulkRow.objects.get(ticket=rows[1]).said
