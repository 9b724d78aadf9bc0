"""Events are delivered at least once, in their own transactions, and a failure stops nobody else."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team
from portal.ledger import dispatch
from portal.ledger.dispatch import deliver_all, install
from portal.ledger.models import Delivery, DeliveryStatus, Event
from portal.ledger.services import record
from portal.wiring import REACTIONS

HERE = __name__


def note(event: Event) -> None:
    Team.objects.create(slug=f"n{event.pk}-{Team.objects.count()}", name="note")


def fail(event: Event) -> None:
    Team.objects.create(slug=f"f{event.pk}", name="half done")
    raise RuntimeError("the other side is away")


def chain(event: Event) -> None:
    record("second", subject=event.subject, by=None)


@pytest.fixture(autouse=True)
def wiring() -> None:
    install(
        {
            "first": [f"{HERE}.chain"],
            "second": [f"{HERE}.note"],
            "bad": [f"{HERE}.fail", f"{HERE}.note"],
            "lost": [f"{HERE}.nowhere"],
        }
    )


@pytest.mark.django_db
def test_reaction_to_a_reaction_is_delivered_too() -> None:
    record("first", subject="T-1", by=None)
    assert deliver_all() == 2
    assert Team.objects.filter(name="note").count() == 1


@pytest.mark.django_db
def test_second_round_delivers_nothing_again() -> None:
    record("second", subject="T-1", by=None)
    deliver_all()
    assert deliver_all() == 0
    assert Team.objects.count() == 1


@pytest.mark.django_db
def test_reaction_that_fails_leaves_nothing_half_done_and_is_tried_later() -> None:
    record("bad", subject="T-1", by=None)
    deliver_all()
    assert not Team.objects.filter(name="half done").exists()
    assert Team.objects.filter(name="note").count() == 1
    late = Delivery.objects.get(state=DeliveryStatus.PENDING)
    assert late.due_at > late.event.at
    assert "the other side is away" in late.last_error


@pytest.mark.django_db
def test_reaction_that_never_works_ends_dead_and_visible() -> None:
    record("lost", subject="T-1", by=None)
    Delivery.objects.update(attempts=dispatch.MAX_ATTEMPTS - 1)
    deliver_all()
    assert Delivery.objects.get().state == DeliveryStatus.DEAD


@pytest.mark.django_db
def test_event_nobody_waits_for_owes_no_delivery() -> None:
    record("quiet", subject="T-1", by=None)
    assert Event.objects.count() == 1
    assert not Delivery.objects.exists()


@pytest.mark.django_db
def test_event_of_a_transaction_that_fails_never_happened() -> None:
    from django.db import transaction

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record("second", subject="T-1", by=None)
        _ = 1 / 0
    assert not Event.objects.exists()
    assert not Delivery.objects.exists()


def test_every_reaction_of_the_house_can_be_imported() -> None:
    from django.utils.module_loading import import_string

    for reactions in REACTIONS.values():
        for reaction in reactions:
            assert callable(import_string(reaction))
