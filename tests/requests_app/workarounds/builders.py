"""Workarounds as tests need them: a ticket far from focus or near, and a workaround of each kind on it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from portal.accounts.models import Team, User
from portal.kernel import clock
from portal.ledger.dispatch import deliver_all
from requests_app.catalogue.models import Offering
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.models import Ticket
from requests_app.workarounds.granting import Terms, grant_workaround
from requests_app.workarounds.models import Workaround
from tests.builders import H100
from tests.requests_app.tickets.conftest import a_claim, an_unblock

MANUAL = {"steps": "Point the jobs at the old share; point them back afterwards."}
QUOTA = {"sku": H100, "gpus": 16}


class Calendar:
    """The time the portal has; a test turns its pages."""

    def __init__(self) -> None:
        self.at = clock.now().replace(hour=12, minute=0, second=0, microsecond=0)

    def __call__(self) -> datetime:
        return self.at

    def go_on(self, **span: float) -> datetime:
        self.at += timedelta(**span)
        return self.at


def far_ticket(team: Team, by: User) -> Ticket:
    """Filed by a blocked team, far from what infra works on now, and ranked."""
    made = an_unblock(team, by, blocked=a_claim(since=clock.now() - timedelta(hours=3)))
    deliver_all()
    made.refresh_from_db()
    return made


def near_ticket(team: Team, by: User) -> Ticket:
    """What infra does every day: access to a dataset, handed over by a person."""
    offering = Offering.objects.select_related("current").get(slug="dataset-access")
    assert offering.current is not None
    answers = {"dataset": "Images", "origin": "here", "write": False, "personal": "none"}
    made = submit_ticket(offering_version=offering.current, team=team, answers=answers, by=by)
    deliver_all()
    made.refresh_from_db()
    return made


def terms(**more: Any) -> Terms:
    said = {
        "kind": "manual",
        "params": MANUAL,
        "summary": "The old share, read-only",
        "closure_test": "A job reads 1 TB in an hour from the new share",
        "days": 20,
        "interest_hours": 2,
        **more,
    }
    return Terms(**said)


def a_workaround(ticket: Ticket, by: User, **more: Any) -> Workaround:
    ticket.refresh_from_db()
    return grant_workaround(ticket=ticket, version=ticket.version, terms=terms(**more), by=by)


def a_quota_workaround(ticket: Ticket, by: User, **more: Any) -> Workaround:
    return a_workaround(ticket, by, kind="quota", params=QUOTA, summary="16 GPUs more", **more)
