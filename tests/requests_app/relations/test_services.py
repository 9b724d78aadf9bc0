"""Requests that belong together say so on both sides; a duplicate brings everything along and shows nobody too much."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, IllegalMove, Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.relations.models import Relation
from requests_app.relations.queries import relations_of
from requests_app.relations.services import merge_ticket, relate, unrelate
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import comment
from requests_app.triage.services import decline_ticket
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import an_ask, many_asks

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(desk: Team, member: User, other_team: Team, stranger: User) -> tuple[Ticket, Ticket]:
    """A request of the team, and the same of another team."""
    return an_ask(desk, member, "The share is gone"), an_ask(
        other_team, stranger, "Nothing mounts since noon"
    )


def merged(pair: tuple[Ticket, Ticket], by: User) -> tuple[Ticket, Ticket]:
    canonical, duplicate = pair
    return canonical, merge_ticket(ticket=duplicate, version=duplicate.version, into=canonical, by=by)


def test_relation_is_told_on_both_sides_once(pair: tuple[Ticket, Ticket], triager: User) -> None:
    first, second = pair
    relate(ticket=first, kind="blocked_by", other=second, by=triager)
    relate(ticket=first, kind="blocked_by", other=second, by=triager)
    told = {event.subject: event.payload["says"] for event in Event.objects.filter(name="ticket.related")}
    assert told == {first.ref: "blocked by", second.ref: "blocks"}
    assert Relation.objects.count() == 1


def test_what_relates_both_ways_is_one_relation(pair: tuple[Ticket, Ticket], triager: User) -> None:
    first, second = pair
    relate(ticket=first, kind="relates_to", other=second, by=triager)
    relate(ticket=second, kind="relates_to", other=first, by=triager)
    assert Relation.objects.count() == 1


def test_circle_is_refused_however_long(desk: Team, member: User, triager: User) -> None:
    rows = many_asks(4, desk, member)
    for source, target in zip(rows, rows[1:], strict=False):
        relate(ticket=source, kind="blocked_by", other=target, by=triager)
    with pytest.raises(Invalid):
        relate(ticket=rows[-1], kind="blocked_by", other=rows[0], by=triager)


def test_relation_that_leads_out_of_sight_is_not_there(
    pair: tuple[Ticket, Ticket], triager: User, member: User
) -> None:
    first, second = pair
    relate(ticket=first, kind="blocked_by", other=second, by=triager)
    assert relations_of(first, member).related == []
    assert [each.ticket.pk for each in relations_of(first, triager).related] == [second.pk]


def test_only_triagers_relate_and_merge(pair: tuple[Ticket, Ticket], member: User, operator: User) -> None:
    first, second = pair
    for person in (member, operator):
        with pytest.raises(NotAllowed):
            relate(ticket=first, kind="relates_to", other=second, by=person)
        with pytest.raises(NotAllowed):
            merge_ticket(ticket=second, version=second.version, into=first, by=person)


def test_relation_ends_and_says_so(pair: tuple[Ticket, Ticket], triager: User) -> None:
    relation = relate(ticket=pair[0], kind="relates_to", other=pair[1], by=triager)
    unrelate(relation=relation, by=triager)
    assert not Relation.objects.exists()
    assert Event.objects.filter(name="ticket.unrelated").count() == 2


def test_merge_shows_comments_with_where_they_came_from_and_keeps_notes_internal(
    pair: tuple[Ticket, Ticket], triager: User, member: User, stranger: User
) -> None:
    comment(ticket=pair[1], body="Ours since nine.", by=stranger)
    comment(ticket=pair[1], body="Same cable.", internal=True, by=triager)
    canonical, duplicate = merged(pair, triager)
    (seen,) = relations_of(canonical, triager).merged
    assert seen.ticket.pk == duplicate.pk
    assert [(each.body, each.internal) for each in seen.comments] == [
        ("Ours since nine.", False),
        ("Same cable.", True),
    ]
    assert relations_of(canonical, member).merged == []  # another team's words stay that team's


def test_requester_of_the_duplicate_gets_a_line_when_the_other_is_not_theirs(
    pair: tuple[Ticket, Ticket], triager: User, stranger: User, client: Client
) -> None:
    canonical, duplicate = merged(pair, triager)
    told = relations_of(duplicate, stranger)
    assert (told.canonical, told.elsewhere) == (None, "submitted")
    client.force_login(stranger)
    page = client.get(f"/tickets/{duplicate.ref}/").content.decode()
    assert "Another team's request took this one over" in page
    assert canonical.ref not in page
    assert canonical.title not in page
    assert client.get(f"/tickets/{canonical.ref}/").status_code == 404


def test_requester_of_the_duplicate_sees_the_other_when_it_is_their_teams(
    desk: Team, member: User, lead: User, triager: User
) -> None:
    mine, theirs = an_ask(desk, member), an_ask(desk, lead, "Jobs hang again")
    comment(ticket=theirs, body="On gpu-004.", by=lead)
    merge_ticket(ticket=theirs, version=theirs.version, into=mine, by=triager)
    assert relations_of(Ticket.objects.get(pk=theirs.pk), lead).canonical == mine
    (seen,) = relations_of(mine, member).merged
    assert [each.body for each in seen.comments] == ["On gpu-004."]


def test_what_was_taken_over_is_taken_over_along(desk: Team, member: User, triager: User) -> None:
    first, second, third = many_asks(3, desk, member)
    merge_ticket(ticket=second, version=1, into=first, by=triager)
    merge_ticket(ticket=third, version=1, into=Ticket.objects.get(pk=second.pk), by=triager)
    assert Ticket.objects.get(pk=third.pk).merged_into_id == first.pk
    assert {each.ticket.pk for each in relations_of(first, triager).merged} == {second.pk, third.pk}
    with pytest.raises(Invalid):
        merge_ticket(ticket=first, version=1, into=Ticket.objects.get(pk=third.pk), by=triager)


def test_block_of_a_duplicate_goes_on_and_shows(pair: tuple[Ticket, Ticket], triager: User) -> None:
    Ticket.objects.filter(pk=pair[1].pk).update(
        blocked_since=pair[1].submitted_at, blocked_people=4, idle_gpus=32
    )
    canonical, duplicate = merged(pair, triager)
    assert duplicate.is_blocking
    assert relations_of(canonical, triager).merged[0].is_blocking


def test_declined_request_takes_nothing_over(pair: tuple[Ticket, Ticket], triager: User) -> None:
    decline_ticket(ticket=pair[0], version=pair[0].version, reason_code="focus", reason="No.", by=triager)
    with pytest.raises(IllegalMove):
        merged(pair, triager)


def test_stale_merge_is_a_conflict(pair: tuple[Ticket, Ticket], triager: User) -> None:
    Ticket.objects.filter(pk=pair[1].pk).update(version=99)
    with pytest.raises(LostRace):
        merged(pair, triager)


@pytest.mark.django_db(transaction=True)
def test_two_that_take_each_other_over_at_once_make_no_circle(desk: Team, member: User) -> None:
    first, second = many_asks(2, desk, member)
    people = [a_user(staff_role="triager") for _ in range(2)]

    def merge(each: tuple[Ticket, Ticket, User]) -> str:
        try:
            merge_ticket(ticket=each[0], version=1, into=each[1], by=each[2])
        except (Conflict, Invalid):
            return "lost"
        finally:
            connection.close()
        return "merged"

    with ThreadPoolExecutor(2) as pool:
        ends = sorted(pool.map(merge, [(first, second, people[0]), (second, first, people[1])]))
    assert ends == ["lost", "merged"]
    assert Ticket.objects.filter(status="merged").count() == 1
