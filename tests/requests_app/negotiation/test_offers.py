"""An offer holds what it needs exactly as long as it is open, and exactly one word of the team closes it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction

from portal.accounts.models import Membership, Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, LostRace, NotAllowed, Refused
from portal.ledger.models import Event
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.replies import Counter
from requests_app.negotiation.services import (
    accept_offer,
    answer_about_offer,
    ask_about_offer,
    counter_offer,
    lapse_due_offers,
    propose_offer,
    reply_to_offer,
    withdraw_offer,
)
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import withdraw_ticket
from requests_app.triage.services import decline_ticket
from tests.builders import H100, a_quota
from tests.personas import a_user
from tests.requests_app.negotiation.conftest import day, four_now_one_later, names_of

pytestmark = pytest.mark.django_db


def held(team: Team) -> int:
    return room_for(team, H100).held


def age(offer: Offer, **span: float) -> None:
    """As if the offer had been made earlier."""
    shift = timedelta(**span)
    Offer.objects.filter(pk=offer.pk).update(
        made_at=offer.made_at - shift, expires_at=offer.expires_at - shift
    )


# Proposing


def test_offer_pauses_the_ticket_and_holds_both_parts(offer: Offer, ask: Ticket, desk: Team) -> None:
    ask.refresh_from_db()
    assert (ask.status, ask.waiting_since is not None) == ("offered", True)
    each = offer.lines.get()
    assert (each.now_qty, each.later_qty, each.later_on) == (4, 1, day(12))
    assert held(desk) == 40
    assert each.hold_now is not None
    assert each.hold_later is not None
    assert (each.hold_now.gpus, each.hold_later.gpus) == (32, 8)


def test_offer_beyond_the_quota_is_refused_with_numbers_and_changes_nothing(
    ask: Ticket, desk: Team, triager: User
) -> None:
    a_quota(desk, 36)
    with pytest.raises(Refused) as refusal:
        propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later()], by=triager)
    assert (refusal.value.data["limit"], refusal.value.data["nearest_yes"]) == (36, 0)
    ask.refresh_from_db()
    assert (ask.status, held(desk), Offer.objects.count()) == ("submitted", 0, 0)


def test_offer_says_something_about_every_line_or_what_is_missing(project: Ticket, triager: User) -> None:
    with pytest.raises(Invalid) as refusal:
        propose_offer(
            ticket=project, version=project.version, lines=[Proposal(position=1, kind="now")], by=triager
        )
    assert refusal.value.fields == {
        "lines": ["Say something about every undecided line; missing: 2, 3, 4, 5."]
    }


def test_three_numbers_are_kept_with_the_offer(
    ask: Ticket, triager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    object.__setattr__(settings.CONFIG, "gpu_hour_prices", ((H100, Decimal("2.00")),))
    try:
        made = propose_offer(
            ticket=ask, version=ask.version, lines=[Proposal(position=1, kind="now")], by=triager
        )
    finally:
        object.__setattr__(settings.CONFIG, "gpu_hour_prices", ())
    each = made.lines.get()
    assert (each.cost_per_month, each.currency) == (Decimal("58400.00"), "EUR")
    assert (each.relief_days, each.reliability) == (1, "standard")


def test_cost_without_a_price_is_unknown(offer: Offer) -> None:
    assert offer.lines.get().cost_per_month is None


def test_only_triagers_offer(ask: Ticket, lead: User, operator: User) -> None:
    for person in (lead, operator):
        with pytest.raises(NotAllowed):
            propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later()], by=person)


def test_offer_on_a_stale_page_is_told(ask: Ticket, offer: Offer, triager: User) -> None:
    with pytest.raises(LostRace):
        propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later()], by=triager)


def test_new_revision_supersedes_the_open_one_and_never_holds_twice(
    ask: Ticket, offer: Offer, desk: Team, triager: User
) -> None:
    a_quota(desk, 40)
    ask.refresh_from_db()
    second = propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later(day(9))], by=triager)
    offer.refresh_from_db()
    assert (offer.status, second.revision, held(desk)) == ("superseded", 2, 40)
    assert drifts() == []


# Answering


def test_acceptance_converts_the_hold_and_makes_the_promise(
    ask: Ticket, offer: Offer, desk: Team, lead: User
) -> None:
    accept_offer(offer=offer, revision=1, by=lead)
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (ask.status, line.verdict, line.granted_qty) == ("provisioning", "granted", 5)
    assert held(desk) == 40
    promise = Promise.objects.get()
    assert (promise.quantity, promise.due_on, promise.first_due_on) == (1, day(12), day(12))
    assert (line.decided_by, offer.made_by) == (offer.made_by, offer.made_by)
    assert drifts() == []


def test_accepting_some_frees_what_the_rest_held(
    project: Ticket, desk: Team, triager: User, member: User
) -> None:
    lines = [Proposal(position=position, kind="now") for position in range(1, 6)]
    offer = propose_offer(ticket=project, version=project.version, lines=lines, by=triager)
    accept_offer(offer=offer, revision=1, positions=[2, 3], by=member)
    project.refresh_from_db()
    assert (project.status, held(desk)) == ("submitted", 0)
    assert list(project.lines.filter(verdict="granted").values_list("position", flat=True)) == [2, 3]


def test_counter_frees_everything_and_the_desk_reads_what_is_wanted(
    ask: Ticket, offer: Offer, desk: Team, member: User
) -> None:
    wants = {1: Counter(quantity=5, wanted_on=day(5), words="All by Friday.")}
    counter_offer(offer=offer, revision=1, counter=wants, by=member)
    ask.refresh_from_db()
    offer.refresh_from_db()
    assert (ask.status, ask.waiting_since, offer.status, held(desk)) == ("submitted", None, "countered", 0)
    each = offer.lines.get()
    assert (each.reply, each.counter_qty, each.counter_on) == ("countered", 5, day(5))


def test_dropping_all_that_is_left_withdraws_the_request(
    ask: Ticket, offer: Offer, desk: Team, member: User
) -> None:
    reply_to_offer(offer=offer, revision=1, drop=[1], by=member)
    ask.refresh_from_db()
    assert (ask.status, ask.lines.get().verdict, held(desk)) == ("withdrawn", "dropped", 0)


def test_accepted_no_is_a_no_with_its_reason(ask: Ticket, triager: User, member: User) -> None:
    no = Proposal(
        position=1, kind="no", reason_code="capacity", reason="Not this year.", nearest_yes="Two now."
    )
    offer = propose_offer(ticket=ask, version=ask.version, lines=[no], by=triager)
    accept_offer(offer=offer, revision=1, by=member)
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (ask.status, line.verdict, line.reason_code) == ("declined", "declined", "capacity")


def test_something_else_instead_is_what_is_granted(
    ask: Ticket, desk: Team, triager: User, member: User
) -> None:
    from tests.builders import a_sku, some_nodes

    other = a_sku("a100-sxm4-80g")
    some_nodes(8, sku=other, rack="rack-2")
    a_quota(desk, 64, sku=other.slug)
    instead = Proposal(position=1, kind="instead", instead_sku=other.slug, now_qty=6)
    offer = propose_offer(ticket=ask, version=ask.version, lines=[instead], by=triager)
    assert (held(desk), room_for(desk, other.slug).held) == (0, 48)
    accept_offer(offer=offer, revision=1, by=member)
    line = ask.lines.get()
    assert (line.asked_qty, line.granted_qty, line.granted_sku, line.ordered_qty) == (5, 6, other.slug, 6)


@pytest.mark.parametrize(
    "said",
    [
        {"accept": [2]},
        {"accept": [1], "drop": [1]},
        {"counter": {1: Counter()}},
        {"counter": {1: Counter(quantity=0)}},
    ],
)
def test_nonsense_is_refused_and_the_offer_stays_open(
    offer: Offer, member: User, said: dict[str, object]
) -> None:
    with pytest.raises(Invalid):
        reply_to_offer(offer=offer, revision=1, by=member, **said)  # type: ignore[arg-type]
    offer.refresh_from_db()
    assert offer.is_open


def test_who_speaks_for_the_team_answers(
    offer: Offer, ask: Ticket, lead: User, triager: User, stranger: User
) -> None:
    other = a_user("other-member", team=ask.team)
    for person in (other, triager, stranger):
        with pytest.raises(NotAllowed):
            accept_offer(offer=offer, revision=1, by=person)
    accept_offer(offer=offer, revision=1, by=lead)


def test_requester_who_left_the_team_answers_no_more(offer: Offer, member: User) -> None:
    Membership.objects.filter(user=member).delete()
    with pytest.raises(NotAllowed):
        accept_offer(offer=offer, revision=1, by=member)


def test_stale_revision_is_told_what_happened_and_what_is_current(
    ask: Ticket, offer: Offer, triager: User, member: User
) -> None:
    ask.refresh_from_db()
    propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later(day(9))], by=triager)
    with pytest.raises(Conflict, match="superseded by triager") as conflict:
        accept_offer(offer=offer, revision=1, by=member)
    assert conflict.value.data["current_revision"] == 2
    assert conflict.value.code == "stale-offer"


def test_second_answer_is_told_about_the_first(offer: Offer, member: User, lead: User) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    with pytest.raises(Conflict, match="accepted by member"):
        counter_offer(offer=offer, revision=1, counter={}, words="Wait!", by=lead)


def test_what_the_fleet_refuses_leaves_the_offer_open_and_can_be_tried_again(
    ask: Ticket, offer: Offer, desk: Team, member: User
) -> None:
    from provisioning.fleet.models import Node

    taken = list(Node.objects.values_list("pk", flat=True)[:6])
    Node.objects.filter(pk__in=taken).update(status="quarantined")
    with pytest.raises((Refused, Conflict)):
        accept_offer(offer=offer, revision=1, by=member)
    offer.refresh_from_db()
    assert (offer.is_open, held(desk), Promise.objects.count()) == (True, 40, 0)
    Node.objects.filter(pk__in=taken).update(status="free")
    accept_offer(offer=offer, revision=1, by=member)
    assert Event.objects.filter(name="ticket.started").count() == 1
    assert drifts() == []


# Lapsing, withdrawing, declining


def test_offer_lapses_after_its_time_and_holds_nothing(ask: Ticket, offer: Offer, desk: Team) -> None:
    assert lapse_due_offers() == 0
    age(offer, days=8)
    assert (lapse_due_offers(), lapse_due_offers()) == (1, 0)
    ask.refresh_from_db()
    offer.refresh_from_db()
    assert (ask.status, offer.status, held(desk)) == ("submitted", "lapsed", 0)
    assert ask.paused_seconds >= 0


def test_offer_past_its_time_is_not_accepted_even_before_the_sweep(offer: Offer, member: User) -> None:
    age(offer, days=8)
    with pytest.raises(Conflict, match="lapsed"):
        accept_offer(offer=offer, revision=1, by=member)


def test_decline_and_withdrawal_free_what_was_held(
    ask: Ticket, offer: Offer, desk: Team, triager: User
) -> None:
    ask.refresh_from_db()
    decline_ticket(ticket=ask, version=ask.version, reason_code="focus", reason="No.", by=triager)
    offer.refresh_from_db()
    assert (offer.status, held(desk)) == ("withdrawn", 0)


def test_team_withdraws_its_request_and_the_offer_ends(
    ask: Ticket, offer: Offer, desk: Team, member: User
) -> None:
    ask.refresh_from_db()
    withdraw_ticket(ticket=ask, version=ask.version, by=member)
    offer.refresh_from_db()
    assert (offer.status, held(desk)) == ("withdrawn", 0)
    with pytest.raises((Conflict, IllegalMove)):
        accept_offer(offer=offer, revision=1, by=member)


def test_desk_takes_its_offer_back_with_a_reason(
    ask: Ticket, offer: Offer, desk: Team, triager: User
) -> None:
    ask.refresh_from_db()
    withdraw_offer(ticket=ask, version=ask.version, reason="A rack is down.", by=triager)
    ask.refresh_from_db()
    assert (ask.status, held(desk)) == ("submitted", 0)
    assert Event.objects.get(name="offer.withdrawn").payload["words"] == "A rack is down."


# Asking


def test_question_brings_the_ticket_to_the_desk_and_stops_the_offers_time(
    ask: Ticket, offer: Offer, desk: Team, triager: User
) -> None:
    other = a_user("other-member", team=ask.team)
    ask_about_offer(offer=offer, revision=1, question="In one rack?", by=other)
    ask.refresh_from_db()
    assert (ask.status, held(desk)) == ("submitted", 40)
    age(offer, days=30)
    assert lapse_due_offers() == 0
    Offer.objects.filter(pk=offer.pk).update(asked_at=now() - timedelta(days=30))
    before = Offer.objects.get(pk=offer.pk).expires_at
    answer_about_offer(ticket=ask, version=ask.version, answer="Yes.", by=triager)
    ask.refresh_from_db()
    offer.refresh_from_db()
    assert (ask.status, offer.asked_at) == ("offered", None)
    assert offer.expires_at - before >= timedelta(days=30)
    assert {"offer.asked", "offer.answered"} <= set(names_of(ask))


def test_offer_with_a_question_can_still_be_accepted(ask: Ticket, offer: Offer, member: User) -> None:
    ask_about_offer(offer=offer, revision=1, question="In one rack?", by=member)
    accept_offer(offer=offer, revision=1, by=member)
    ask.refresh_from_db()
    assert ask.status == "provisioning"


def test_database_lets_one_offer_of_a_ticket_be_open(offer: Offer, triager: User) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Offer.objects.create(
            ticket=offer.ticket,
            revision=2,
            expires_at=now() + timedelta(days=1),
            made_by=triager,
            status="open",
        )
