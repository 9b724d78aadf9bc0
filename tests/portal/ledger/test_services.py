"""An event rings the bell once for a transaction, however much the transaction says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import transaction

from portal.ledger import dispatch, services
from portal.ledger.models import Delivery
from portal.ledger.services import record

pytestmark = pytest.mark.django_db
Commits = Callable[..., AbstractContextManager[list[Callable[[], Any]]]]


@pytest.fixture(autouse=True)
def somebody_listens() -> None:
    dispatch.install({"ticket.submitted": ("tests.portal.ledger.test_services.listen",)})


def listen(_event: object) -> None:
    """Hears, and does nothing."""


def say() -> None:
    record("ticket.submitted", subject="T-1", by=None)


def test_many_events_ring_once(django_capture_on_commit_callbacks: Commits) -> None:
    with django_capture_on_commit_callbacks() as waiting, transaction.atomic():
        for _ in range(5):
            with transaction.atomic():
                say()
    assert [each for each in waiting if each is services.ring] == [services.ring]
    assert Delivery.objects.count() == 5


def test_bell_of_what_was_undone_is_rung_by_what_comes_after(
    django_capture_on_commit_callbacks: Commits,
) -> None:
    with django_capture_on_commit_callbacks() as waiting, transaction.atomic():
        with pytest.raises(RuntimeError), transaction.atomic():
            say()
            raise RuntimeError
        with transaction.atomic():
            say()
    assert waiting == [services.ring]
    assert Delivery.objects.count() == 1


def test_event_outside_of_what_was_undone_rings_all_the_same(
    django_capture_on_commit_callbacks: Commits,
) -> None:
    with django_capture_on_commit_callbacks() as waiting, transaction.atomic():
        say()
        with pytest.raises(RuntimeError), transaction.atomic():
            say()
            raise RuntimeError
    assert waiting == [services.ring]
