"""A new policy ranks everything anew in batches, survives a kill, and the list stays usable meanwhile."""

from __future__ import annotations

import pytest

from portal.accounts.models import User
from portal.kernel.errors import Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.priority import reranking
from requests_app.priority.models import PriorityPolicy, Rerank
from requests_app.priority.policies import active_policy, make_policy
from requests_app.priority.queries import place_of
from requests_app.tickets.models import Ticket
from tests.requests_app.priority.conftest import block, fresh, many

pytestmark = pytest.mark.django_db

NEW = {
    "half_life_hours": 48.0,
    "person_day": 530.0,
    "median_ratio": 60.0,
    "share_half_life_days": 14.0,
    "flood_hours": 6.0,
}


def change(by: User, seen: int = 1, **more: float) -> PriorityPolicy:
    return make_policy(seen=seen, constants={**NEW, **more}, reason="A crunch is coming.", by=by)


def versions() -> set[int]:
    return set(Ticket.objects.values_list("rank_explanation__policy_version", flat=True))


def test_first_policy_is_the_portals_own(db: None) -> None:
    assert active_policy().number == 1
    assert not PriorityPolicy.objects.exists()


def test_new_version_ranks_everything_and_keeps_the_old_one(ticket: Ticket, admin_user: User) -> None:
    many(ticket, 5)
    made = change(admin_user)
    assert (made.number, active_policy().number) == (2, 2)
    assert PriorityPolicy.objects.get(number=1).half_life_hours == 24
    assert reranking.run_open(size=2) == 6
    assert versions() == {2}
    assert reranking.current_run() is None
    assert Event.objects.get(name="priority.policy_made").payload["changed"] == {
        "half_life_hours": [24.0, 48.0]
    }


def test_killed_re_rank_goes_on_where_it_stood(ticket: Ticket, admin_user: User) -> None:
    many(ticket, 5)
    change(admin_user)
    run = Rerank.objects.get()
    assert reranking.step(run.pk, size=2) == 2
    run.refresh_from_db()
    assert (run.done, run.total, round(run.share, 2)) == (2, 6, 0.33)
    assert versions() == {1, 2}
    assert reranking.run_open(size=2) == 4
    assert versions() == {2}


def test_list_and_places_are_usable_between_two_versions(
    ticket: Ticket, member: User, admin_user: User
) -> None:
    others = many(ticket, 5)
    block(ticket, member)
    change(admin_user)
    reranking.step(Rerank.objects.get().pk, size=2)
    place = place_of(fresh(others[-1]))
    assert place is not None
    assert (place.compared, place.about) == (place.ahead, False)
    assert versions() == {1, 2}


def test_ticket_that_changes_meanwhile_is_ranked_by_the_new_version(
    ticket: Ticket, member: User, admin_user: User
) -> None:
    change(admin_user)
    assert block(ticket, member).rank_explanation["policy_version"] == 2


def test_later_version_takes_the_work_over(ticket: Ticket, admin_user: User) -> None:
    change(admin_user)
    change(admin_user, seen=2, half_life_hours=36.0)
    assert Rerank.objects.filter(ended_at=None).count() == 1
    reranking.run_open()
    assert versions() == {3}


def test_second_of_two_admins_is_told(ticket: Ticket, admin_user: User) -> None:
    change(admin_user)
    with pytest.raises(LostRace):
        change(admin_user, half_life_hours=12.0)
    assert active_policy().half_life_hours == 48


def test_policy_needs_good_constants_and_a_reason(db: None, admin_user: User) -> None:
    with pytest.raises(Invalid) as refused:
        make_policy(seen=1, constants={**NEW, "half_life_hours": 0}, reason=" ", by=admin_user)
    assert set(refused.value.fields) == {"half_life_hours", "reason"}
    assert not PriorityPolicy.objects.filter(number=2).exists()


def test_triager_makes_no_policy(db: None, triager: User) -> None:
    with pytest.raises(NotAllowed):
        change(triager)
