"""A desk with a fleet and a quota, and a team that asks for five things at once or for one cluster."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.refs import parse_ref
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from provisioning import interface
from provisioning.orders.models import Order
from provisioning.orders.states import FINAL
from requests_app.catalogue.models import Offering
from requests_app.catalogue.questions import asked_only, questions_of
from requests_app.negotiation.models import Offer
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import propose_offer
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import submit_ticket
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.provisioning.builders import FakeJudge, fake_judge, step

__all__ = ["FakeJudge", "fake_judge"]


@pytest.fixture
def desk(team: Team) -> Team:
    """Eight free nodes and a quota of 64 GPUs for the team."""
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    return team


def day(days: int) -> date:
    """So many days from today."""
    return now().date() + timedelta(days=days)


def a_project_ask(team: Team, by: User, **answers: Any) -> Ticket:
    """One form, five lines: five nodes, 16 GPUs of quota, 20 TB, a dataset, a dashboard."""
    offering = Offering.objects.select_related("current").get(slug="project-start")
    assert offering.current is not None
    given = {
        "project": "Segmentation",
        "purpose": "A new model.",
        "cluster_sku": H100,
        "nodes": 5,
        "cluster_name": "segment",
        "more_quota": True,
        "quota_sku": H100,
        "gpus": 16,
        "storage": True,
        "size_tb": 20,
        "data": True,
        "dataset": "Images",
        "dashboard": True,
        "headline": "Where is time lost?",
        **answers,
    }
    asked = asked_only(questions_of(offering.current.content), given)
    return submit_ticket(offering_version=offering.current, team=team, answers=asked, by=by)


@pytest.fixture
def project(desk: Team, member: User) -> Ticket:
    return a_project_ask(desk, member)


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    """One line: five nodes."""
    return a_cluster_ask(desk, member, nodes=5)


def four_now_one_later(on: date | None = None) -> Proposal:
    """Four of five nodes now, the fifth on a day."""
    return Proposal(position=1, kind="part", now_qty=4, later_on=on or day(12))


@pytest.fixture
def offer(ask: Ticket, triager: User) -> Offer:
    """Four nodes now, the fifth in twelve days."""
    return propose_offer(ticket=ask, version=ask.version, lines=[four_now_one_later()], by=triager)


def run_order(ref: str, *, fails: bool = False) -> None:
    """Let an order run to its end, as a worker's answers would; what follows in the ledger follows."""
    deliver_all()
    order = Order.objects.get(pk=parse_ref(ref, "O"))
    while order.status not in FINAL:
        if fails:
            interface.cancel_order(ref, reason="No healthy node is left.", by=None)
        else:
            step(order)
        order.refresh_from_db()
    deliver_all()


def names_of(ticket: Ticket) -> list[str]:
    """The ticket's events in their order."""
    return list(Event.objects.filter(subject=ticket.ref).order_by("id").values_list("name", flat=True))
