"""What do the pages of requests show in the tests? Offers, promises, workarounds, merges and what people say of them.

Built on top of the scene of the fleet, through the services of the rooms.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.catalogue.models import Offering
from requests_app.negotiation.models import Offer
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import accept_offer, propose_offer
from requests_app.priority.services import rank_ticket
from requests_app.relations.services import merge_ticket, relate
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import comment
from requests_app.triage import bulk
from requests_app.triage.duty import set_shift
from requests_app.triage.replies import save_reply
from requests_app.triage.saved_views import save_view
from requests_app.workarounds.granting import Terms, grant_workaround
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.services import mark_applied
from tests.builders import H100, a_cluster_ask, a_quota

MARKDOWN = """We tried three ways:

1. `NCCL_IB_HCA=mlx5_0` alone: **no change**
2. another rack, see [the notes](https://docs.example.org/nccl)
3. a smaller message size

```
gpu-003: 41 GB/s
gpu-004: 362 GB/s
```
"""


@dataclass(frozen=True)
class Bargain:
    """Addresses of what was built."""

    offered: Ticket
    promised: Ticket
    relieved: Ticket
    merged: Ticket
    talked: Ticket
    workaround: Workaround
    project: Replacement
    bulk: int


def build(*, team: Team, member: User, lead: User, triager: User, talked: Ticket) -> Bargain:
    """All of it."""
    a_quota(team, 160)
    offered = _offered(team, member, triager)
    promised = _promised(team, member, triager)
    relieved, workaround = _relieved(team, member, triager)
    merged = _unblock(team, lead, "The shared file system hangs")
    deliver_all()
    merged = merge_ticket(ticket=_fresh(merged), version=_fresh(merged).version, into=talked, by=triager)
    relate(ticket=_fresh(talked), kind="blocked_by", other=_fresh(offered), by=triager)
    comment(ticket=_fresh(talked), body=MARKDOWN, by=member)
    comment(
        ticket=_fresh(talked),
        body="The vendor's case is open; don't promise a day yet.",
        internal=True,
        by=triager,
    )
    deliver_all()
    rank_ticket(ticket=_fresh(talked), by=None)
    return Bargain(
        offered=_fresh(offered),
        promised=_fresh(promised),
        relieved=relieved,
        merged=merged,
        talked=_fresh(talked),
        workaround=workaround,
        project=Replacement.objects.get(),
        bulk=_habits(triager),
    )


def _fresh(ticket: Ticket) -> Ticket:
    return Ticket.objects.for_pages().get(pk=ticket.pk)


def _ask(team: Team, by: User, slug: str, **answers: object) -> Ticket:
    offering = Offering.objects.select_related("current").get(slug=slug)
    assert offering.current is not None
    return submit_ticket(offering_version=offering.current, team=team, answers=answers, by=by)


def _offered(team: Team, member: User, triager: User) -> Ticket:
    ticket = _ask(
        team,
        member,
        "project-start",
        project="Segmentation",
        purpose="A new model.",
        cluster_sku=H100,
        nodes=3,
        cluster_name="segment",
        more_quota=True,
        quota_sku=H100,
        gpus=16,
        storage=True,
        size_tb=20,
        data=True,
        dataset="Images",
        dashboard=True,
        headline="Where is time lost?",
    )
    deliver_all()
    later = now().date() + timedelta(days=12)
    propose_offer(
        ticket=_fresh(ticket),
        version=_fresh(ticket).version,
        lines=[
            Proposal(position=1, kind="part", now_qty=1, later_qty=2, later_on=later),
            Proposal(position=2, kind="now"),
            Proposal(position=3, kind="now", relief_days=2),
            Proposal(position=4, kind="now"),
            Proposal(
                position=5,
                kind="no",
                reason_code="focus",
                reason="Dashboards are built by the metrics team.",
                nearest_yes="A copy of the one the speech team has, tomorrow.",
            ),
        ],
        note="One node today, the rest when the new racks are in.",
        by=triager,
    )
    deliver_all()
    return ticket


def _promised(team: Team, member: User, triager: User) -> Ticket:
    ticket = a_cluster_ask(team, member, nodes=2, cluster_name="tracking")
    deliver_all()
    lines = [
        Proposal(position=1, kind="part", now_qty=1, later_qty=1, later_on=now().date() + timedelta(days=9))
    ]
    if _fresh(ticket).status == "submitted":
        propose_offer(ticket=_fresh(ticket), version=_fresh(ticket).version, lines=lines, by=triager)
        offer = Offer.objects.get(ticket=ticket)
        accept_offer(offer=offer, revision=offer.revision, by=member)
        deliver_all()
    return ticket


def _relieved(team: Team, member: User, triager: User) -> tuple[Ticket, Workaround]:
    ticket = _unblock(team, member, "No node can read the images fast enough")
    deliver_all()
    terms = Terms(
        kind="manual",
        params={"steps": "Copy the newest shards to the local disks; delete the copies afterwards."},
        summary="The newest shards on local disks",
        closure_test="A read from the share is faster than 5 GB/s",
        days=21,
        interest_hours=Decimal("2.5"),
        risk="medium",
        risk_words="A new shard is missing until somebody copies it.",
        with_project=True,
    )
    given = grant_workaround(ticket=_fresh(ticket), version=_fresh(ticket).version, terms=terms, by=triager)
    given.refresh_from_db()
    mark_applied(workaround=given, version=given.version, note="Copied.", by=triager)
    deliver_all()
    return _fresh(ticket), Workaround.objects.get(pk=given.pk)


def _unblock(team: Team, by: User, headline: str) -> Ticket:
    return _ask(team, by, "unblock", headline=headline, details="Since noon.", area="unknown")


def _habits(triager: User) -> int:
    """What a decider keeps: a view, a canned text, a turn of duty, a selection."""
    save_view(name="Blocked, all teams", filters={"view": "blocked"}, shared=True, by=triager)
    save_reply(
        name="Which job?",
        use="question",
        body="Which job was it, and since when? Its name is enough.",
        by=triager,
    )
    set_shift(
        person=triager,
        zone="Europe/Berlin",
        since=now().date(),
        until=None,
        weekdays=range(7),
        begins=time(8),
        ends=time(18),
        by=triager,
    )
    return bulk.freeze(filters={"view": "queue"}, by=triager).pk
