"""The pages of workarounds: given with everything typed kept, handled beside the ticket, owed on one page."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.triage.services import approve_ticket, deliver_ticket
from requests_app.workarounds.models import PillarCap, Workaround
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.replacing import move_replacement
from tests.builders import a_cluster_ask
from tests.personas import a_user
from tests.requests_app.workarounds.builders import a_quota_workaround, a_workaround, far_ticket

pytestmark = pytest.mark.django_db

TYPED = {
    "kind": "quota",
    "summary": "16 GPUs more",
    "sku": "h100-sxm5-80g",
    "gpus": "16",
    "days": "14",
    "closure_test": "The raise is agreed",
    "interest_hours": "1.5",
    "residual_percent": "30",
    "risk": "low",
}


def page(client: Client, user: User, address: str) -> str:
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def test_triager_gives_a_workaround_from_the_ticket_s_page(
    client: Client, ticket: Ticket, triager: User, member: User
) -> None:
    shown = page(client, triager, f"/tickets/{ticket.ref}/")
    assert 'id="give-workaround"><summary>' in shown  # folded away: it is longer than all the rest beside it
    assert f'hx-get="/tickets/{ticket.ref}/workarounds/"' in shown
    assert 'name="closure_test"' not in shown
    fields = client.get(f"/tickets/{ticket.ref}/workarounds/", headers={"hx-request": "true"})
    assert 'name="closure_test"' in fields.content.decode()
    assert "<html" not in fields.content.decode()
    answer = client.post(f"/tickets/{ticket.ref}/workarounds/", {**TYPED, "version": ticket.version})
    made = Workaround.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/tickets/{ticket.ref}/#{made.ref}")
    for user in (member, triager):
        shown = page(client, user, f"/tickets/{ticket.ref}/")
        assert "16 GPUs more" in shown
        assert made.replacement is not None
        assert made.replacement.ref in shown


def test_wrong_answers_come_back_beside_their_fields_with_what_was_typed(
    client: Client, ticket: Ticket, triager: User
) -> None:
    client.force_login(triager)
    typed = {**TYPED, "version": ticket.version, "gpus": "", "closure_test": "Kept words"}
    answer = client.post(f"/tickets/{ticket.ref}/workarounds/", typed)
    shown = answer.content.decode()
    assert answer.status_code == 422
    assert "Kept words" in shown
    assert "From 1 to 100000 GPUs." in shown
    assert not Workaround.objects.exists()


def test_team_sees_the_card_and_no_form_to_give_one(client: Client, lent: Workaround, member: User) -> None:
    shown = page(client, member, f"/tickets/{lent.ticket.ref}/")
    assert lent.closure_test in shown
    assert "Give a workaround" not in shown
    assert "Ask for more time" in shown
    assert client.get(f"/tickets/{lent.ticket.ref}/workarounds/").status_code == 302


def test_member_asks_a_triager_renews(
    client: Client, lent: Workaround, member: User, admin_user: User
) -> None:
    client.force_login(member)
    said = {"version": lent.version, "days": "10", "reason": "The project is late."}
    client.post(f"/workarounds/{lent.ref}/do/ask-renewal/", said)
    lent.refresh_from_db()
    assert lent.status == "renewal_asked"
    client.force_login(admin_user)
    client.post(f"/workarounds/{lent.ref}/do/renew/", {"version": lent.version, "days": "10", "key": "k1"})
    until = lent.expires_at
    lent.refresh_from_db()
    assert (lent.status, (lent.expires_at - until).days) == ("active", 10)


def test_stranger_finds_no_workaround_and_no_project(
    client: Client, lent: Workaround, stranger: User
) -> None:
    client.force_login(stranger)
    assert lent.replacement is not None
    for address in (f"/workarounds/{lent.ref}/", f"/debt/{lent.replacement.ref}/"):
        assert client.get(address).status_code == 404
    said = {"version": lent.version, "text": "mine"}
    for doing in ("end", "proper", "renew", "nonsense"):
        assert client.post(f"/workarounds/{lent.ref}/do/{doing}/", said).status_code == 404
    shown = page(client, stranger, "/debt/")
    assert lent.summary not in shown


def test_member_may_not_end_what_the_desk_gave(client: Client, lent: Workaround, member: User) -> None:
    client.force_login(member)
    answer = client.post(f"/workarounds/{lent.ref}/do/end/", {"version": lent.version})
    assert answer.status_code == 403
    lent.refresh_from_db()
    assert lent.status == "active"


def test_debt_page_shows_numbers_and_each_team_its_own(
    client: Client, lent: Workaround, triager: User, member: User, other_team: Team
) -> None:
    other = far_ticket(other_team, a_user("talker", team=other_team))
    a_workaround(other, triager, summary="Their own disk")
    shown = page(client, triager, "/debt/")
    assert "Their own disk" in shown
    assert "What we owe" in shown
    assert '4 <span class="stat-unit">h a week' in shown
    shown = page(client, member, "/debt/")
    assert "16 GPUs more" in shown
    assert "Their own disk" not in shown
    assert "Open by pillar" not in shown


def test_same_need_again_becomes_one_project_by_a_button(
    client: Client, desk: Team, member: User, triager: User
) -> None:
    tickets = [a_cluster_ask(desk, member, nodes=12, cluster_name=f"near-{number}") for number in (1, 2)]
    for each in tickets:
        a_quota_workaround(each, triager)
    shown = page(client, triager, "/debt/")
    assert "Make one project" in shown
    key = Workaround.objects.values_list("class_key", flat=True)[0]
    answer = client.post("/debt/projects/", {"class_key": key, "title": "More GPUs for vision"})
    project = Replacement.objects.get()
    assert answer["Location"] == f"/debt/{project.ref}/"
    assert set(project.tickets.all()) == set(tickets)
    assert "Make one project" not in page(client, triager, "/debt/")


def test_project_page_moves_it_on(client: Client, lent: Workaround, triager: User, member: User) -> None:
    project = lent.replacement
    assert project is not None
    shown = page(client, member, f"/debt/{project.ref}/")
    assert "Milestones" in shown
    assert "Move it on" not in shown
    client.force_login(triager)
    client.post(f"/debt/{project.ref}/milestones/", {"position": "1"})
    client.post(f"/debt/{project.ref}/move/", {"version": project.version, "action": "start"})
    project.refresh_from_db()
    assert project.status == "in_progress"
    assert project.milestones.exclude(done_at=None).count() == 1
    assert Event.objects.filter(name="replacement.milestone").count() == 1


def test_only_admins_set_a_cap(client: Client, lent: Workaround, triager: User, admin_user: User) -> None:
    client.force_login(triager)
    assert client.post("/debt/caps/", {"pillar": "compute", "most": "1"}).status_code == 403
    client.force_login(admin_user)
    assert client.post("/debt/caps/", {"pillar": "compute", "most": "1"}).status_code == 302
    assert PillarCap.objects.get(pillar="compute").most == 1


@pytest.mark.parametrize("address", ["/debt/"])
def test_list_takes_as_many_queries_for_ten_rows_as_for_many(
    client: Client, desk: Team, member: User, triager: User, admin_user: User, address: str
) -> None:
    PillarCap.objects.create(pillar="developer-productivity", most=500)
    ticket = far_ticket(desk, member)

    def count() -> int:
        client.get(address)
        with CaptureQueriesContext(
            connection,
        ) as seen:
            client.get(address)
        return len(seen)

    client.force_login(triager)
    for number in range(3):
        a_workaround(ticket, triager, tag=f"tag {'x' * number}")
    few = count()
    for _ in range(12):
        a_workaround(ticket, triager)
    assert count() <= few + 1


def test_refused_closing_is_said_above_the_page_and_takes_nothing_from_it(
    client: Client, lent: Workaround, triager: User, member: User
) -> None:
    project = lent.replacement
    assert project is not None
    move_replacement(replacement=project, version=1, action="drop", reason="No time.", by=triager)
    ticket = Ticket.objects.get(pk=lent.ticket_id)
    done = approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    done = deliver_ticket(ticket=done, version=done.version, note="Use it.", by=triager)
    client.force_login(member)
    answer = client.post(
        f"/tickets/{ticket.ref}/close",
        {"version": done.version},
        headers={"HX-Request": "true", "HX-Target": "work"},
    )
    assert answer.status_code == 422
    assert answer["HX-Reswap"].startswith("afterbegin")
    assert "works by a workaround" in answer.content.decode()
