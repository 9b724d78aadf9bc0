"""A request that took another over carries its loss, its workaround and its place; a merge that is taken back takes them away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Refused
from portal.ledger.dispatch import deliver_all
from requests_app.blocks.evidence import CLAIMED, Counted, together
from requests_app.blocks.services import BlockClaim, end_block, open_block
from requests_app.priority.services import facts_of
from requests_app.relations.services import merge_ticket
from requests_app.tickets.families import absorbed_by, where_it_goes_on
from requests_app.tickets.models import Ticket
from requests_app.triage.acts import act
from requests_app.triage.undo import take_back
from requests_app.workarounds.closing import refuse_unsettled
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.states import WorkaroundState
from tests.builders import a_catalogue, a_quota, some_nodes
from tests.requests_app.triage.desk_builders import an_ask
from tests.requests_app.workarounds.builders import a_workaround

counts = st.builds(
    Counted,
    idle_gpu_hours=st.floats(0, 1e5),
    confidence=st.floats(0.25, 1),
    people=st.floats(0, 100),
    people_confidence=st.floats(0.25, 1),
    dated_loss=st.floats(0, 1e5),
    dated_confidence=st.sampled_from([0.8, 1.0]),
)


@given(st.lists(st.tuples(counts, st.floats(0.01, 1.5)), min_size=1, max_size=5))
def test_losses_add_up_and_are_believed_neither_more_nor_less(losses: list[tuple[Counted, float]]) -> None:
    whole, remains = together(losses)
    assert whole.idle_gpu_hours == pytest.approx(sum(each.idle_gpu_hours for each, _ in losses))
    assert whole.people == pytest.approx(sum(each.people for each, _ in losses))
    believed = sum(each.idle_gpu_hours * each.confidence for each, _ in losses)
    assert whole.idle_gpu_hours * whole.confidence == pytest.approx(believed, abs=1e-6)
    shares = [share for _, share in losses]
    assert min(shares) - 1e-9 <= remains <= max(shares) + 1e-9


def test_a_relieved_loss_beside_nothing_remains_as_its_own_workaround_says() -> None:
    lost = Counted(idle_gpu_hours=100.0, confidence=CLAIMED)
    assert together([(Counted(), 1.0), (lost, 0.3)]) == (lost, pytest.approx(0.3))


@pytest.fixture
def pair(db: None, team: Team, member: User, other_team: Team, stranger: User) -> tuple[Ticket, Ticket]:
    """A request of the team that nothing stops, and the same of a team that can't work."""
    a_catalogue()
    some_nodes(8)
    a_quota(team)
    duplicate = an_ask(other_team, stranger, "Nothing mounts")
    claim = BlockClaim(since=now() - timedelta(hours=2), people=3, idle_gpus=16, what="Nothing mounts.")
    open_block(ticket=duplicate, claim=claim, by=stranger)
    deliver_all()
    duplicate.refresh_from_db()
    return an_ask(team, member, "The share is gone"), duplicate


def merge(pair: tuple[Ticket, Ticket], by: User) -> Ticket:
    canonical, duplicate = pair
    merge_ticket(ticket=duplicate, version=duplicate.version, into=canonical, by=by)
    deliver_all()
    canonical.refresh_from_db()
    return canonical


def test_block_of_a_duplicate_counts_where_it_went_on(pair: tuple[Ticket, Ticket], triager: User) -> None:
    before = pair[0].rank_key
    canonical = merge(pair, triager)
    assert before is not None
    assert canonical.rank_key is not None
    assert canonical.rank_key < before
    facts = facts_of(canonical)
    assert (facts.people, facts.idle_gpu_hours) == (3, 16 * 24)


def test_end_of_that_block_moves_the_request_that_took_it_over(
    pair: tuple[Ticket, Ticket], triager: User, stranger: User
) -> None:
    before = pair[0].rank_key
    canonical = merge(pair, triager)
    end_block(ticket=pair[1], by=stranger)
    deliver_all()
    canonical.refresh_from_db()
    assert canonical.rank_key == before


def test_merge_that_is_taken_back_takes_its_loss_away(pair: tuple[Ticket, Ticket], triager: User) -> None:
    canonical, duplicate = pair
    before = canonical.rank_key
    done = act(
        verb="duplicate", ticket=duplicate, version=duplicate.version, given={"into": canonical}, by=triager
    )
    deliver_all()
    assert done.undo is not None
    take_back(undo_id=done.undo.pk, by=triager)
    deliver_all()
    canonical.refresh_from_db()
    assert canonical.rank_key == before


def test_workaround_of_a_duplicate_relieves_and_has_to_be_settled_where_it_went_on(
    pair: tuple[Ticket, Ticket], triager: User
) -> None:
    held = a_workaround(pair[1], triager)
    Workaround.objects.filter(pk=held.pk).update(
        status=WorkaroundState.ACTIVE, active_at=now(), replacement=None, residual=0.3
    )
    pair[1].refresh_from_db()
    canonical = merge(pair, triager)
    assert facts_of(canonical).residual == pytest.approx(0.3)
    with pytest.raises(Refused) as refused:
        refuse_unsettled(canonical)
    assert refused.value.data["workarounds"] == [held.ref]


def test_family_is_followed_however_often_it_was_merged(
    pair: tuple[Ticket, Ticket], team: Team, member: User, triager: User
) -> None:
    canonical, duplicate = pair
    third = an_ask(team, member, "Mounts hang")
    merge_ticket(ticket=duplicate, version=duplicate.version, into=third, by=triager)
    third.refresh_from_db()
    merge_ticket(ticket=third, version=third.version, into=canonical, by=triager)
    assert absorbed_by([canonical.pk]) == {third.pk: canonical.pk, duplicate.pk: canonical.pk}
    duplicate.refresh_from_db()
    assert where_it_goes_on(duplicate) == canonical
