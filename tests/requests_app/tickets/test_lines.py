"""A verdict is kept for ever: by the service, and by the database whoever writes."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

import requests_app.migrations as migrations
from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import LostRace
from requests_app.tickets.lines import decide, reopen
from requests_app.tickets.models import Line, LineDecision, LineVerdict, Ticket
from requests_app.triage.services import approve_ticket, decline_ticket
from tests.builders import a_cluster_ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept_by_the_database(db: None) -> None:
    """The triggers of the migration, where tables were made without it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_trigger WHERE tgname = 'requests_app_line_verdict_is_kept'")
        if cursor.fetchone() is None:
            (path,) = Path(next(iter(migrations.__path__))).glob("*_negotiation_verdicts_kept.py")
            cursor.execute(import_module(f"requests_app.migrations.{path.stem}").KEEP)


def granted(ticket: Ticket, triager: User) -> Line:
    approve_ticket(ticket=ticket, version=ticket.version, granted={1: 2}, by=triager)
    return ticket.lines.get()


@pytest.mark.usefixtures("kept_by_the_database")
@pytest.mark.parametrize(
    "changes",
    [
        {"granted_qty": 3},
        {"verdict": "pending", "granted_qty": None},
        {"verdict": "declined", "granted_qty": 0},
        {"decided_at": now() - timedelta(days=1)},
        {"verdict": "pending", "granted_qty": None, "round": 3},
    ],
)
def test_database_refuses_to_change_a_verdict(
    ticket: Ticket, triager: User, changes: dict[str, object]
) -> None:
    line = granted(ticket, triager)
    with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
        Line.objects.filter(pk=line.pk).update(ordered_qty=0, **changes)
    with (
        pytest.raises(DatabaseError, match="kept for ever"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("DELETE FROM requests_app_line WHERE id = %s", [line.pk])


@pytest.mark.usefixtures("kept_by_the_database")
def test_database_lets_everything_else_of_a_decided_line_go_on(ticket: Ticket, triager: User) -> None:
    line = granted(ticket, triager)
    Line.objects.filter(pk=line.pk).update(ordered_qty=0, delivered_qty=2, reason="It is there.")
    reopened = reopen(Line.objects.get(pk=line.pk), returned=True, by=None)
    assert (reopened.verdict, reopened.round) == ("pending", 2)


@pytest.mark.usefixtures("kept_by_the_database")
def test_database_refuses_to_change_or_lose_a_decision(ticket: Ticket, triager: User) -> None:
    granted(ticket, triager)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LineDecision.objects.update(granted_qty=9)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LineDecision.objects.all().delete()


def test_second_verdict_in_a_round_loses(ticket: Ticket, triager: User) -> None:
    stale = ticket.lines.get()
    decline_ticket(ticket=ticket, version=ticket.version, reason_code="focus", reason="No.", by=triager)
    with pytest.raises(LostRace):
        decide(stale, LineVerdict.GRANTED, 1, by=triager)


def test_each_round_keeps_its_verdict_for_ever(ticket: Ticket, triager: User) -> None:
    line = granted(ticket, triager)
    reopen(line, returned=True, reason="The order failed.", by=None)
    decide(line, LineVerdict.DECLINED, 0, by=triager, reason_code="capacity", reason="No nodes.")
    told = line.decisions.values_list("round", "verdict", "granted_qty", "reason_code")
    assert list(told) == [(1, "granted", 2, ""), (2, "declined", 0, "capacity")]


def test_what_was_granted_in_part_says_so_after_a_year(desk: Team, member: User, triager: User) -> None:
    ask = a_cluster_ask(desk, member, nodes=4)
    line = granted(ask, triager)
    Ticket.objects.filter(pk=ask.pk).update(submitted_at=now() - timedelta(days=366))
    again = Line.objects.get(pk=line.pk)
    assert (again.asked_qty, again.granted_qty, again.verdict) == (4, 2, "granted")
