"""Two people at once: the database lets the lane keep its two places and a person one word, with real threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from portal.accounts.models import Team, User
from portal.kernel.errors import PortalError
from portal.ledger.models import Event
from requests_app.blocks.models import BlockInterval, BlockPerson
from requests_app.blocks.services import confirm_person, open_block
from requests_app.priority.models import Expedite, PriorityPolicy
from requests_app.priority.overrides import expedite_ticket
from requests_app.priority.policies import make_policy
from requests_app.tickets.models import Ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.personas import a_user
from tests.requests_app.blocks.conftest import a_claim
from tests.requests_app.priority.conftest import fresh, many

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ask(team: Team, member: User) -> Ticket:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return a_cluster_ask(team, member)


def at_once(*works: Callable[[], object]) -> list[Exception | None]:
    """Run all of them at the same moment; what each raised."""
    start, results = threading.Barrier(len(works)), [None] * len(works)
    found: list[Exception | None] = list(results)

    def run(position: int, work: Callable[[], object]) -> None:
        try:
            start.wait(10)
            work()
        except Exception as problem:  # noqa: BLE001 - the test looks at what it was
            found[position] = problem
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_five_at_once_put_two_tickets_into_the_lane(ask: Ticket, triager: User) -> None:
    tickets = many(ask, 5)
    works = [
        (lambda row=row: expedite_ticket(ticket=row, version=row.version, reason="incident", by=triager))
        for row in tickets
    ]
    problems = [each for each in at_once(*works) if each is not None]
    assert len(problems) == 3
    assert {getattr(each, "code", each) for each in problems} == {"expedite-lane-full"}
    assert sorted(Expedite.objects.values_list("slot", flat=True)) == [1, 2]
    assert Ticket.objects.filter(expedited_at__isnull=False).count() == 2


def test_double_click_confirms_once(ask: Ticket, member: User, lead: User) -> None:
    open_block(ticket=ask, claim=a_claim(), by=member)
    problems = at_once(*[lambda: confirm_person(ticket=fresh(ask), by=lead)] * 4)
    assert problems == [None] * 4
    assert BlockPerson.objects.filter(user=lead, confirmed_at__isnull=False).count() == 1
    assert Event.objects.filter(name="block.person_spoke").count() == 1


def test_two_members_open_one_block(ask: Ticket, member: User, lead: User) -> None:
    problems = at_once(
        lambda: open_block(ticket=fresh(ask), claim=a_claim(), by=member),
        lambda: open_block(ticket=fresh(ask), claim=a_claim(), by=lead),
    )
    (problem,) = [each for each in problems if each is not None]
    assert isinstance(problem, PortalError)
    assert problem.code == "already-blocked"
    assert BlockInterval.objects.count() == 1


def test_two_admins_make_one_version(db: None) -> None:
    admins = [a_user(f"admin-{number}", staff_role="admin") for number in (1, 2)]
    constants = {
        "half_life_hours": 48,
        "person_day": 530,
        "median_ratio": 60,
        "share_half_life_days": 14,
        "flood_hours": 6,
    }
    works = [
        (lambda by=by: make_policy(seen=1, constants=constants, reason="A crunch.", by=by)) for by in admins
    ]
    problems = [each for each in at_once(*works) if each is not None]
    assert [getattr(each, "code", each) for each in problems] == ["lost-race"]
    assert PriorityPolicy.objects.get(active=True).number == 2
