"""Two clicks say how it went: once per person and ticket, changeable for two weeks; and a request can come back."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, LostRace, NotAllowed
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app import events
from requests_app.blocks.models import BlockInterval, ClaimRecord, IdleReading
from requests_app.blocks.queries import lost_gpu_hours
from requests_app.outcome import rules
from requests_app.outcome.impact import compare_blocks, impacts
from requests_app.outcome.models import Outcome
from requests_app.outcome.queries import scores
from requests_app.outcome.services import reopen_ticket, say_outcome
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import close_ticket, confirm_relief
from tests.personas import a_user
from tests.requests_app.tickets.conftest import FRAGMENT

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_two_clicks_are_one_answer(ready: Ticket, member: User, client: Client) -> None:
    client.force_login(member)
    path = f"/tickets/{ready.ref}/outcome"
    first = client.post(path, {"satisfaction": "4"}, headers=FRAGMENT)
    assert 'aria-pressed="true"' in first.content.decode()
    assert client.post(path, {"effort": "5"}).status_code == 302
    row = Outcome.objects.get()
    assert (row.satisfaction, row.effort, row.person) == (4, 5, member)
    assert Event.objects.filter(name=events.OUTCOME_GIVEN).count() == 2


def test_words_are_optional_and_can_be_taken_back(ready: Ticket, member: User) -> None:
    say_outcome(ticket=ready, satisfaction=2, words="Slow.", by=member)
    assert say_outcome(ticket=ready, effort=3, by=member).words == "Slow."
    assert say_outcome(ticket=ready, words="", by=member).words == ""


def test_everybody_of_the_team_says_their_own(ready: Ticket, member: User, lead: User) -> None:
    say_outcome(ticket=ready, satisfaction=1, by=member)
    say_outcome(ticket=ready, satisfaction=5, by=lead)
    assert Outcome.objects.count() == 2
    assert set(Outcome.objects.visible_to(lead)) == {Outcome.objects.get(person=lead)}


def test_infra_does_not_answer_for_its_customers(ready: Ticket, triager: User) -> None:
    with pytest.raises(NotAllowed):
        say_outcome(ticket=ready, satisfaction=5, by=triager)


def test_nobody_is_asked_before_it_is_done(ticket: Ticket, member: User) -> None:
    with pytest.raises(Conflict):
        say_outcome(ticket=ticket, satisfaction=5, by=member)


@pytest.mark.parametrize("given", [{}, {"satisfaction": 0}, {"effort": 6}, {"satisfaction": True}])
def test_what_is_no_answer_is_refused(ready: Ticket, member: User, given: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        say_outcome(ticket=ready, **given, by=member)


def test_after_two_weeks_it_stays(ready: Ticket, member: User) -> None:
    say_outcome(ticket=ready, satisfaction=5, by=member)
    Outcome.objects.update(at=now() - timedelta(days=14, seconds=1))
    with pytest.raises(Conflict):
        say_outcome(ticket=ready, satisfaction=1, by=member)


@pytest.mark.django_db(transaction=True)
def test_clicks_that_come_at_once_are_one_answer(ready: Ticket, member: User) -> None:
    def click(**given: int) -> None:
        say_outcome(ticket=ready, **given, by=member)  # type: ignore[arg-type]
        connection.close()

    threads = [threading.Thread(target=click, kwargs={name: 4}) for name in ("satisfaction", "effort") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row = Outcome.objects.get()
    assert (row.satisfaction, row.effort) == (4, 4)


def test_scores_say_how_many_answered(ready: Ticket, member: User, lead: User) -> None:
    say_outcome(ticket=ready, satisfaction=2, by=member)
    say_outcome(ticket=ready, satisfaction=5, effort=4, by=lead)
    row, everything = scores(now() - HOUR, now() + HOUR)
    assert (row.name, row.asked, row.answered, row.rate) == ("developer-productivity", 1, 1, 1.0)
    assert (row.satisfaction, row.satisfaction_n, row.effort, row.effort_n) == (3.5, 2, 4.0, 1)
    assert (everything.satisfaction, everything.satisfaction_n) == (3.5, 2)
    assert scores(now() + HOUR, now() + 2 * HOUR) == ()


def test_staff_read_them_and_teams_do_not(ready: Ticket, member: User, triager: User, client: Client) -> None:
    say_outcome(ticket=ready, satisfaction=2, words="It took three tries.", by=member)
    client.force_login(triager)
    assert "It took three tries." in client.get("/desk/outcomes/").content.decode()
    assert client.get("/desk/outcomes/?dais=90").status_code == 422
    client.force_login(member)
    assert client.get("/desk/outcomes/").status_code == 404


def test_a_request_comes_back_with_its_age(ready: Ticket, member: User) -> None:
    filed = ready.submitted_at
    back = reopen_ticket(ticket=ready, version=ready.version, reason="Gone again.", by=member)
    assert (back.status, back.reason, back.submitted_at) == ("returned", "Gone again.", filed)
    deliver_all()
    back.refresh_from_db()
    assert back.rank_key is not None


def test_a_closed_one_comes_back_too_but_not_for_ever(ready: Ticket, member: User) -> None:
    closed = close_ticket(ticket=ready, version=ready.version, by=member)
    closed.refresh_from_db()
    Ticket.objects.filter(pk=closed.pk).update(state_since=now() - timedelta(days=15))
    closed.refresh_from_db()
    with pytest.raises(Conflict, match="Two weeks"):
        reopen_ticket(ticket=closed, version=closed.version, reason="Hm.", by=member)


def test_opening_again_needs_a_reason_a_right_and_the_version(
    ready: Ticket, ticket: Ticket, member: User
) -> None:
    with pytest.raises(Invalid):
        reopen_ticket(ticket=ready, version=ready.version, reason=" ", by=member)
    with pytest.raises(LostRace):
        reopen_ticket(ticket=ready, version=ready.version - 1, reason="x", by=member)
    with pytest.raises(NotAllowed):
        reopen_ticket(ticket=ready, version=ready.version, reason="x", by=a_user(team=ready.team))
    with pytest.raises(IllegalMove):
        reopen_ticket(ticket=ticket, version=ticket.version, reason="x", by=member)


def test_clients_say_it_and_open_it_again(ready: Ticket, member: User, stranger: User) -> None:
    client, path = APIClient(), f"/api/v1/tickets/{ready.ref}"
    client.force_authenticate(stranger)
    assert client.post(f"{path}/outcome", {"effort": 5}, format="json").status_code == 404
    client.force_authenticate(member)
    said = client.post(f"{path}/outcome", {"effort": 5, "words": "Thanks."}, format="json")
    assert (said.status_code, said.json()["effort"], said.json()["satisfaction"]) == (200, 5, None)
    assert client.post(f"{path}/outcome", {"effort": 6}, format="json").status_code == 422
    assert client.post(f"{path}/reopen", {"reason": "Gone."}, format="json").status_code == 428
    tag = client.get(path)["ETag"]
    done = client.post(f"{path}/reopen", {"reason": "Gone."}, format="json", headers={"If-Match": tag})
    assert (done.status_code, done.json()["state"]) == (200, "returned")


def test_a_claim_is_held_against_what_was_measured(ready: Ticket, member: User, operator: User) -> None:
    block = BlockInterval.objects.get(ticket=ready)
    IdleReading.objects.create(
        ticket=ready, key="1", at=block.started_at, idle_gpus=block.idle_gpus // 2, reported_by=operator
    )
    confirm_relief(ticket=ready, by=member)
    deliver_all()
    record = ClaimRecord.objects.get(block=block)
    assert record.measured_gpu_hours == pytest.approx(record.claimed_gpu_hours / 2, rel=0.01)
    found = impacts(now() - HOUR, now() + HOUR)
    assert (found[0].blocks, found[0].ratio) == (1, pytest.approx(0.5, rel=0.01))
    assert compare_blocks(ready) == 0  # once is enough


def test_what_nobody_measured_is_not_held_against_anybody(ready: Ticket, member: User) -> None:
    confirm_relief(ticket=ready, by=member)
    deliver_all()
    assert not ClaimRecord.objects.exists()


def test_what_is_kept_is_the_figure_that_was_shown_while_it_went_on(
    ready: Ticket, member: User, operator: User
) -> None:
    block = BlockInterval.objects.get(ticket=ready)
    BlockInterval.objects.filter(pk=block.pk).update(started_at=now() - 20 * HOUR, idle_gpus=10)
    for key, hours, gpus in (("1", 18, 4), ("2", 10, 2)):  # the second speaks for the ten hours to the end
        at = now() - hours * HOUR
        IdleReading.objects.create(ticket=ready, key=key, at=at, idle_gpus=gpus, reported_by=operator)
    block.refresh_from_db()
    shown = lost_gpu_hours(block, now())
    assert shown == pytest.approx(10 * 2 + 4 * 8 + 2 * 10, rel=0.01)
    confirm_relief(ticket=ready, by=member)
    deliver_all()
    assert ClaimRecord.objects.get(block=block).measured_gpu_hours == pytest.approx(shown, rel=0.01)


def test_a_block_hears_its_own_first_reading_though_the_one_before_it_heard_the_same(
    ready: Ticket, operator: User, member: User
) -> None:
    first = BlockInterval.objects.get(ticket=ready)
    BlockInterval.objects.filter(pk=first.pk).update(
        started_at=now() - 20 * HOUR, ended_at=now() - 10 * HOUR, end_source="measured", idle_gpus=10
    )
    second = BlockInterval.objects.create(
        ticket=ready, started_at=now() - 6 * HOUR, people=1, idle_gpus=10, what="Again.", claimed_by=member
    )
    for key, hours in (("1", 19), ("2", 6)):
        at = now() - hours * HOUR
        IdleReading.objects.create(ticket=ready, key=key, at=at, idle_gpus=4, reported_by=operator)
    second.refresh_from_db()
    assert lost_gpu_hours(second, now()) == pytest.approx(4 * 6, rel=0.02)


@given(st.floats(0, 1e9), st.one_of(st.none(), st.floats(0, 1e9)))
def test_a_ratio_stays_between_a_half_and_one(claimed: float, measured: float | None) -> None:
    ratio = rules.claim_ratio(claimed, measured)
    assert (ratio is None) == (measured is None or claimed == 0)
    assert ratio is None or 0.5 <= ratio <= 1


def test_pages_of_infra_stand(team: Team, triager: User, admin_user: User, client: Client) -> None:
    client.force_login(triager)
    for path in ("/desk/outcomes/?days=30", "/desk/clocks/", "/desk/clocks/?days=7"):
        assert client.get(path).status_code == 200
    assert client.get("/desk/clocks/?dais=7").status_code == 422
