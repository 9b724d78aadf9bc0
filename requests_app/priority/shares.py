"""What did each team have lately? Decayed use of GPUs and of infra people's time against entitlement, stored once a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from portal.accounts.models import Team
from portal.kernel.clock import now
from portal.ledger.services import record
from provisioning import interface
from requests_app import events
from requests_app.priority.facts import PEOPLE, effort_of
from requests_app.priority.fairness import Share, Use, has_leapt, shares
from requests_app.priority.models import FairShare
from requests_app.priority.policies import active_policy
from requests_app.priority.services import rank_batch
from requests_app.quotas.models import Quota
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import TicketState

REMEMBERED_HALF_LIVES = 6
HELPED = (TicketState.READY, TicketState.CLOSED)


def refresh_shares() -> int:
    """Compute every share; where φ has leapt, ranks read the new one and the team's tickets are ranked. Returns the leaps."""
    at, days = now(), active_policy().share_half_life_days
    since = at - timedelta(days=days * REMEMBERED_HALF_LIVES)
    uses = [*_gpu_uses(since, at), *_people_uses(since)]
    found = shares(uses, _entitlements(), at=at.timestamp(), half_life_days=days)
    teams = {team.slug: team for team in Team.objects.all()}
    stored = {(row.team.slug, row.resource): row for row in FairShare.objects.select_related("team")}
    moved: set[str] = set()
    for (slug, resource), share in sorted(found.items()):
        if slug in teams and _store(teams[slug], resource, share, stored.get((slug, resource)), at):
            moved.add(slug)
    for slug in sorted(moved):
        _rerank_team(teams[slug])
    return len(moved)


def _store(team: Team, resource: str, share: Share, row: FairShare | None, at: datetime) -> bool:
    """Write what was computed; True when φ moved far enough that ranks have to follow."""
    if row is None:
        row = FairShare(team=team, resource=resource, fairness=1.0)
    row.used, row.entitled, row.computed_at = share.used, share.entitled, at
    leapt = has_leapt(row.fairness, share.fairness)
    if leapt:
        row.fairness, row.moved_at = share.fairness, at
    row.save()
    return leapt


@transaction.atomic
def _rerank_team(team: Team) -> None:
    waiting = Ticket.objects.filter(team=team, rank_key__isnull=False).still_open()
    ids = list(waiting.order_by("pk").values_list("pk", flat=True))
    rank_batch(ids, active_policy().constants)
    record(
        events.FAIRNESS_MOVED,
        subject=f"team/{team.slug}",
        payload={"team": team.slug, "tickets": len(ids)},
        by=None,
    )


def _gpu_uses(since: datetime, at: datetime) -> Iterable[Use]:
    for use in interface.gpu_uses(since):
        yield Use(
            team=use.team,
            resource=use.sku,
            amount=float(use.gpus),
            start=use.start.timestamp(),
            end=(use.end or at).timestamp(),
        )


def _people_uses(since: datetime) -> Iterable[Use]:
    """A helped ticket took its infra-hours when it was decided: one hour of that many people."""
    rows = Ticket.objects.filter(status__in=HELPED, decided_at__gte=since)
    for ticket in rows.select_related("team", "offering_version"):
        assert ticket.decided_at is not None
        end = ticket.decided_at.timestamp()
        yield Use(
            team=ticket.team.slug, resource=PEOPLE, amount=effort_of(ticket), start=end - 3600.0, end=end
        )


def _entitlements() -> dict[tuple[str, str], float]:
    """GPUs of each quota, an unlimited one as much as the largest limited one; the time of people is due to all alike."""
    rows = list(Quota.objects.values_list("team__slug", "sku", "limit"))
    largest: dict[str, int] = {}
    for _, sku, limit in rows:
        largest[sku] = max(largest.get(sku, 1), limit or 0)
    found = {(team, sku): float(largest[sku] if limit is None else limit) for team, sku, limit in rows}
    found.update({(slug, PEOPLE): 1.0 for slug in Team.objects.values_list("slug", flat=True)})
    return found
