"""Blocks by page, as member, lead, stranger, triager and sponsor."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.blocks.models import BlockInterval, BlockPerson, Commitment, IdleReading
from requests_app.blocks.services import amend_block
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import close_ticket, confirm_relief
from tests.personas import a_user
from tests.requests_app.blocks.conftest import a_claim
from tests.requests_app.hostile import HOSTILE

pytestmark = pytest.mark.django_db


def url(ticket: Ticket, action: str = "") -> str:
    return f"/tickets/{ticket.ref}/{action}"


def as_(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def facts(**more: object) -> dict[str, object]:
    since = (now() - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")
    return {"what": "The share is gone.", "since": since, "people": "1", "idle_gpus": "8", **more}


def test_one_small_form_opens_a_block(client: Client, ticket: Ticket, member: User, lead: User) -> None:
    form = as_(client, member).get(url(ticket, "blocked/")).content.decode()
    assert "We are blocked" in form
    assert "lead" in form
    answer = client.post(url(ticket, "blocked/"), facts(who=["lead"]))
    assert (answer.status_code, answer["Location"]) == (302, url(ticket))
    block = BlockInterval.objects.get()
    assert (block.idle_gpus, [person.user for person in block.persons.all()]) == (8, [lead])
    shown = client.get(url(ticket)).content.decode()
    assert "GPU-hours lost" in shown
    assert "A claim counts half" in shown


def test_form_without_a_word_is_shown_again(client: Client, ticket: Ticket, member: User) -> None:
    answer = as_(client, member).post(url(ticket, "blocked/"), facts(what=" "))
    assert answer.status_code == 422
    assert not BlockInterval.objects.exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_what_people_write_is_shown_as_text(client: Client, ticket: Ticket, member: User, text: str) -> None:
    as_(client, member).post(url(ticket, "blocked/"), facts(what=text))
    assert "<script>alert" not in client.get(url(ticket)).content.decode()


def test_facts_are_corrected_with_the_version_that_was_seen(
    client: Client, blocked: Ticket, member: User
) -> None:
    page = as_(client, member).get(url(blocked, "blocked/")).content.decode()
    assert "Correct the facts" in page
    stale = client.post(url(blocked, "blocked/"), facts(version=str(blocked.version - 1)))
    assert stale.status_code == 409
    done = client.post(url(blocked, "blocked/"), facts(version=str(blocked.version), idle_gpus="16"))
    assert done.status_code == 302
    assert BlockInterval.objects.get().idle_gpus == 16


def test_named_person_confirms_by_one_click(client: Client, blocked: Ticket, lead: User) -> None:
    assert "work at half speed" in as_(client, lead).get(url(blocked)).content.decode()
    client.post(url(blocked, "blocked/me"), {"answer": "half"})
    person = BlockPerson.objects.get()
    assert (person.user, person.half) == (lead, True)
    assert "at half speed" in client.get(url(blocked)).content.decode()


@pytest.mark.parametrize("answer", ["", "perhaps"])
def test_a_word_that_is_none_is_refused(client: Client, blocked: Ticket, lead: User, answer: str) -> None:
    assert as_(client, lead).post(url(blocked, "blocked/me"), {"answer": answer}).status_code == 422


def test_desk_confirms_by_one_click(client: Client, blocked: Ticket, triager: User) -> None:
    assert "I looked: it is so" in as_(client, triager).get(url(blocked)).content.decode()
    client.post(url(blocked, "blocked/found"))
    shown = client.get(url(blocked)).content.decode()
    assert "it counts 80 %" in shown
    assert "I looked: it is so" not in shown


def test_desk_claims_nothing_for_a_team(client: Client, ticket: Ticket, triager: User) -> None:
    assert as_(client, triager).get(url(ticket, "blocked/")).status_code == 200
    assert client.post(url(ticket, "blocked/"), facts()).status_code == 403
    assert "We are blocked" not in client.get(url(ticket)).content.decode()


@pytest.mark.parametrize("action", ["blocked/", "blocked/me", "blocked/found", "owed/"])
def test_stranger_finds_nothing(client: Client, blocked: Ticket, stranger: User, action: str) -> None:
    assert as_(client, stranger).post(url(blocked, action), facts()).status_code == 404


@pytest.mark.parametrize("action", ["blocked/me", "blocked/found"])
def test_reading_changes_nothing(client: Client, blocked: Ticket, lead: User, action: str) -> None:
    assert as_(client, lead).get(url(blocked, action)).status_code == 405


def test_closed_request_asks_whether_the_block_is_over(client: Client, blocked: Ticket, member: User) -> None:
    Ticket.objects.filter(pk=blocked.pk).update(status="ready")
    blocked.refresh_from_db()
    close_ticket(ticket=blocked, version=blocked.version, by=member)
    shown = as_(client, member).get(url(blocked)).content.decode()
    assert "nobody has said that the block is over" in shown
    assert "We can work again" in shown
    client.post(url(blocked, "relief"))
    assert "nobody has said that the block is over" not in client.get(url(blocked)).content.decode()


def test_sponsor_is_asked_and_vouches_by_one_click(
    client: Client, ticket: Ticket, member: User, stranger: User
) -> None:
    due = (now() + timedelta(days=9)).date().isoformat()
    owed = {"what": "Launch", "due_on": due, "loss_per_day": "500", "lead_days": "14", "sponsor": "stranger"}
    assert as_(client, member).post(url(ticket, "owed/"), owed).status_code == 302
    assert "not vouched for yet" in client.get(url(ticket)).content.decode()
    made = Commitment.objects.get()
    assert "Launch" in as_(client, stranger).get("/owed/").content.decode()
    assert client.get(url(ticket)).status_code == 404
    client.post(f"/owed/{made.pk}/vouch")
    assert "vouched for" in as_(client, member).get(url(ticket)).content.decode()
    client.post(f"/owed/{made.pk}/drop")
    made.refresh_from_db()
    assert made.dropped_at is not None


def test_wrong_commitment_is_shown_again(client: Client, ticket: Ticket, member: User) -> None:
    answer = as_(client, member).post(url(ticket, "owed/"), {"what": "Launch", "sponsor": "member"})
    assert answer.status_code == 422
    due = (now() + timedelta(days=9)).date().isoformat()
    owed = {"what": "Launch", "due_on": due, "loss_per_day": "5", "lead_days": "14", "sponsor": "member"}
    answer = client.post(url(ticket, "owed/"), owed)
    assert (answer.status_code, "outside your team" in answer.content.decode()) == (422, True)


def test_card_costs_as_many_queries_with_many_words_as_with_few(
    client: Client, blocked: Ticket, member: User, operator: User
) -> None:
    as_(client, member)

    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url(blocked)).status_code == 200
        return len(seen)

    def fill(count: int) -> None:
        block = blocked.blocks.get(ended_at=None)
        for _ in range(count):
            person = a_user(team=blocked.team)
            BlockPerson.objects.create(block=block, user=person, named_by=member)
            reading = {"ticket": blocked, "at": now(), "idle_gpus": person.pk, "reported_by": operator}
            IdleReading.objects.create(key=f"m-{person.pk}", **reading)
            BlockInterval.objects.create(
                ticket=blocked,
                started_at=now() - timedelta(days=9),
                ended_at=now() - timedelta(days=8),
                end_source="confirmed",
                ended_by=member,
                claimed_by=member,
                what="Before.",
            )
            blocked.refresh_from_db()
            amend_block(ticket=blocked, version=blocked.version, claim=a_claim(), by=member)

    fill(2)
    few = cost()
    fill(10)
    assert cost() <= few


def test_block_that_is_over_is_told_with_what_it_cost(client: Client, blocked: Ticket, member: User) -> None:
    confirm_relief(ticket=blocked, by=member)
    shown = as_(client, member).get(url(blocked)).content.decode()
    assert "1 earlier" in shown
    assert "640" in shown
    assert "We are blocked" in shown
