"""A request is filed once per token, with its lines and its block, or not at all."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import close_old_connections, connection

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from portal.ledger.models import Event
from requests_app.blocks.models import BlockInterval
from requests_app.catalogue.loader import load_offerings
from requests_app.catalogue.offering_files import read_folder
from requests_app.tickets.drafts import save_draft
from requests_app.tickets.models import Draft, Line, Ticket
from requests_app.tickets.services import submit_ticket
from tests.builders import H100, a_cluster_ask
from tests.requests_app.tickets.conftest import a_claim, an_unblock, version_of

GOOD: dict[str, Any] = {
    "purpose": "Training.",
    "sku": H100,
    "nodes": 2,
    "cluster_name": "train",
    "lease_days": 7,
}


@pytest.mark.django_db
def test_member_files_a_request_with_lines_and_an_event(desk: Team, member: User) -> None:
    ticket = a_cluster_ask(desk, member, nodes=3)
    line = ticket.lines.get()
    assert (ticket.status, ticket.requester, ticket.team) == ("submitted", member, desk)
    assert (line.asked_qty, line.sku, line.granted_qty, line.verdict) == (3, H100, None, "pending")
    assert line.until == ticket.submitted_at + timedelta(days=14)
    event = Event.objects.get(name="ticket.submitted", subject=ticket.ref)
    assert event.actor == member
    assert event.payload["lines"] == [
        {"position": 1, "label": line.label, "sku": H100, "asked": 3, "unit": "nodes"}
    ]
    assert event.payload["blocked"] is False


@pytest.mark.django_db
def test_ticket_pins_the_version_it_answered(desk: Team, member: User) -> None:
    ticket = an_unblock(desk, member)
    changed = [file for file in read_folder() if file.slug != "unblock"]
    load_offerings(files=changed, by=None)
    ticket.refresh_from_db()
    assert ticket.offering_version.number == 1
    with pytest.raises(Conflict):
        an_unblock(desk, member)


@pytest.mark.django_db
def test_an_outdated_form_is_refused(desk: Team, member: User) -> None:
    old = version_of("unblock")
    files = list(read_folder())
    old.offering.versions.create(
        number=2,
        content_hash="x",
        **{
            name: getattr(old, name)
            for name in ("content", "pillar", "kind", "fulfilment", "title", "promise")
        },
        description="d",
        lead_time="l",
        effort_hours=1,
    )
    old.offering.current = old.offering.versions.get(number=2)
    old.offering.save()
    assert files
    with pytest.raises(Conflict) as caught:
        submit_ticket(offering_version=old, team=desk, answers={}, by=member)
    assert caught.value.code == "offering-changed"


@pytest.mark.django_db
def test_stranger_and_infra_cannot_file_for_a_team(desk: Team, stranger: User, triager: User) -> None:
    with pytest.raises(NotFound):
        a_cluster_ask(desk, stranger)
    with pytest.raises(NotAllowed):
        a_cluster_ask(desk, triager)
    assert not Ticket.objects.exists()


@pytest.mark.django_db
def test_member_is_told_of_bad_answers_and_a_bad_block_at_once(desk: Team, member: User) -> None:
    with pytest.raises(Invalid) as caught:
        submit_ticket(
            offering_version=version_of("gpu-cluster"),
            team=desk,
            answers={**GOOD, "nodes": 0},
            blocked=a_claim(since=now() + timedelta(days=1), priority=1),
            by=member,
        )
    assert set(caught.value.fields) == {"nodes", "blocked.since", "blocked.priority"}
    assert not Ticket.objects.exists()
    assert not Event.objects.filter(name="ticket.submitted").exists()


@pytest.mark.django_db
def test_a_blocked_team_opens_a_block(blocked: Ticket, member: User) -> None:
    block = BlockInterval.objects.get(ticket=blocked)
    assert (block.people, block.idle_gpus, block.ended_at, block.claimed_by) == (4, 32, None, member)
    assert (blocked.blocked_people, blocked.idle_gpus, blocked.blocked_since) == (4, 32, block.started_at)


@pytest.mark.django_db
def test_the_same_token_gives_the_same_ticket(desk: Team, member: User) -> None:
    claim = a_claim()
    first = an_unblock(desk, member, token="once", blocked=claim)
    again = an_unblock(desk, member, token="once", blocked=claim)
    assert first.pk == again.pk
    assert Ticket.objects.count() == Line.objects.count() == BlockInterval.objects.count() == 1


@pytest.mark.django_db
def test_the_same_token_with_other_content_is_refused(desk: Team, member: User) -> None:
    first = an_unblock(desk, member, token="once")
    with pytest.raises(Refused) as caught:
        an_unblock(desk, member, token="once", blocked=a_claim())
    assert caught.value.code == "idempotency-key-reused"
    assert caught.value.data == {"ticket": first.ref}


@pytest.mark.django_db
def test_tokens_of_two_people_have_nothing_to_do_with_each_other(
    desk: Team, member: User, lead: User
) -> None:
    assert an_unblock(desk, member, token="once").pk != an_unblock(desk, lead, token="once").pk


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["", "a b", "x" * 81, "nul\x00", "ünï"])
def test_an_odd_token_is_refused(desk: Team, member: User, token: str) -> None:
    with pytest.raises(Invalid):
        an_unblock(desk, member, token=token)


@pytest.mark.django_db
def test_filing_ends_the_draft_and_a_late_save_revives_nothing(desk: Team, member: User) -> None:
    version = version_of("unblock")
    save_draft(offering_version=version, token="once", typed={"q-headline": ["x"]}, by=member)
    an_unblock(desk, member, token="once")
    assert save_draft(offering_version=version, token="once", typed={"q-headline": ["y"]}, by=member) is None
    assert not Draft.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_double_click_under_threads_files_one_ticket(desk: Team, member: User) -> None:
    threads, found, troubles = 6, [], []
    gate = threading.Barrier(threads)

    def click() -> None:
        close_old_connections()
        try:
            person = User.objects.get(pk=member.pk)
            team = Team.objects.get(pk=desk.pk)
            version = version_of("unblock")
            gate.wait(timeout=30)
            answers = {"headline": "Jobs hang", "details": "Since noon.", "area": "unknown"}
            found.append(
                submit_ticket(
                    offering_version=version, team=team, answers=answers, token="once", by=person
                ).pk
            )
        except Exception as problem:  # noqa: BLE001 - whatever it is, the test shows it
            troubles.append(problem)
        finally:
            connection.close()

    clicks = [threading.Thread(target=click) for _ in range(threads)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join(timeout=60)
    assert troubles == []
    assert len(found) == threads
    assert len(set(found)) == 1
    assert Ticket.objects.count() == Line.objects.count() == 1
    assert Event.objects.filter(name="ticket.submitted").count() == 1
