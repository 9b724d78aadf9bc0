"""A catalogue, a small fleet, a team with quota, and a ticket of theirs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import submit_ticket
from requests_app.triage.services import approve_ticket, ask_back, deliver_ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes

FRAGMENT = {"hx-request": "true"}


@pytest.fixture
def desk(team: Team) -> Team:
    """What every ticket needs around it."""
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return team


def version_of(slug: str) -> OfferingVersion:
    offering = Offering.objects.select_related("current").get(slug=slug)
    assert offering.current is not None
    return offering.current


def a_claim(**more: Any) -> dict[str, Any]:
    return {
        "since": now() - timedelta(hours=3),
        "people": 4,
        "idle_gpus": 32,
        "what": "The share is gone.",
        **more,
    }


def an_unblock(team: Team, by: User, **more: Any) -> Ticket:
    answers = {"headline": "Jobs hang", "details": "Since noon.", "area": "unknown"}
    return submit_ticket(offering_version=version_of("unblock"), team=team, answers=answers, by=by, **more)


@pytest.fixture
def ticket(desk: Team, member: User) -> Ticket:
    """Filed and not decided."""
    return a_cluster_ask(desk, member, nodes=3)


@pytest.fixture
def blocked(desk: Team, member: User) -> Ticket:
    """Filed by a team that can't work."""
    return an_unblock(desk, member, blocked=a_claim())


@pytest.fixture
def waiting(blocked: Ticket, triager: User) -> Ticket:
    """The desk has asked something."""
    return ask_back(ticket=blocked, version=blocked.version, question="Which share?", by=triager)


@pytest.fixture
def ready(blocked: Ticket, triager: User) -> Ticket:
    """Delivered by hand."""
    approved = approve_ticket(ticket=blocked, version=blocked.version, by=triager)
    return deliver_ticket(ticket=approved, version=approved.version, note="It is back.", by=triager)
