"""What does a team owe on a day, and who outside the team says so? It counts once its sponsor confirms, inside its lead time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks.models import Commitment
from requests_app.catalogue import texts
from requests_app.tickets.models import Ticket

LONGEST_WHAT = 200
LONGEST_LEAD = 90
MOST_LOSS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Owed:
    """What is owed on `due_on`, what a day of delay costs in GPU-hours, and the user name of who vouches for it."""

    what: str
    due_on: date
    loss_per_day: int
    sponsor: str
    lead_days: int = 14


@transaction.atomic
def commit(*, ticket: Ticket, owed: Owed, by: User) -> Commitment:
    """Say that something is owed; it moves nothing until the sponsor, who is outside the team, confirms it."""
    if not by.belongs_to(ticket.team):
        raise NotAllowed(f"Only members of {ticket.team.name} say what it owes.")
    sponsor = _sponsor(ticket, owed)
    _check(owed)
    made = Commitment.objects.create(
        ticket=ticket,
        what=texts.tidy(owed.what, limit=LONGEST_WHAT),
        due_on=owed.due_on,
        lead_days=owed.lead_days,
        loss_per_day=owed.loss_per_day,
        sponsor=sponsor,
        asked_by=by,
    )
    record(events.COMMITMENT_MADE, subject=ticket.ref, payload=_said(made), by=by)
    asked = {**_said(made), "owner": sponsor.pk}  # not about the ticket, which the sponsor may not see
    record(events.COMMITMENT_SPONSOR_ASKED, subject=f"owed/{made.pk}", payload=asked, by=by)
    return made


@transaction.atomic
def confirm_commitment(*, commitment: Commitment, by: User) -> Commitment:
    """The sponsor's click. Twice does no harm; who has joined the team meanwhile can't vouch for it any more."""
    fresh = (
        Commitment.objects.select_for_update(of=("self",))
        .select_related("ticket__team")
        .get(pk=commitment.pk)
    )
    if fresh.sponsor_id != by.pk:
        raise NotAllowed("Only its sponsor confirms a commitment.")
    if by.belongs_to(fresh.ticket.team):
        raise NotAllowed("A sponsor stands outside the team; you are in it now.")
    if fresh.dropped_at is not None:
        raise Invalid({"commitment": ["The team has taken it back."]})
    if fresh.confirmed_at is None:
        fresh.confirmed_at = now()
        fresh.save(update_fields=["confirmed_at"])
        record(events.COMMITMENT_CONFIRMED, subject=fresh.ticket.ref, payload=_said(fresh), by=by)
    return fresh


@transaction.atomic
def drop_commitment(*, commitment: Commitment, by: User) -> Commitment:
    """Take it back: a member of the team, or the sponsor. It counts no more."""
    fresh = (
        Commitment.objects.select_for_update(of=("self",))
        .select_related("ticket__team")
        .get(pk=commitment.pk)
    )
    if fresh.sponsor_id != by.pk and not by.belongs_to(fresh.ticket.team):
        raise NotAllowed("The team or the sponsor takes a commitment back.")
    if fresh.dropped_at is None:
        fresh.dropped_at = now()
        fresh.save(update_fields=["dropped_at"])
        record(events.COMMITMENT_DROPPED, subject=fresh.ticket.ref, payload=_said(fresh), by=by)
    return fresh


def _sponsor(ticket: Ticket, owed: Owed) -> User:
    sponsor = User.objects.filter(username=owed.sponsor, is_active=True).first()
    if sponsor is None or sponsor.belongs_to(ticket.team):
        raise Invalid({"sponsor": ["Name somebody outside your team who vouches for it."]})
    return sponsor


def _check(owed: Owed) -> None:
    complaints: dict[str, list[str]] = {}
    said = texts.complaint(owed.what, limit=LONGEST_WHAT, lines=False)
    if said is not None or not owed.what.strip():
        complaints["what"] = [said or "Say what is owed."]
    if owed.due_on < now().date():
        complaints["due_on"] = ["This day is over."]
    if not 1 <= owed.lead_days <= LONGEST_LEAD:
        complaints["lead_days"] = [f"From 1 to {LONGEST_LEAD} days."]
    if not 1 <= owed.loss_per_day <= MOST_LOSS:
        complaints["loss_per_day"] = [f"From 1 to {MOST_LOSS} GPU-hours a day."]
    if complaints:
        raise Invalid(complaints)


def _said(commitment: Commitment) -> dict[str, object]:
    return {
        "team": commitment.ticket.team.slug,
        "commitment": commitment.pk,
        "what": commitment.what,
        "due_on": commitment.due_on.isoformat(),
        "loss_per_day": commitment.loss_per_day,
        "sponsor": commitment.sponsor.username,
    }
