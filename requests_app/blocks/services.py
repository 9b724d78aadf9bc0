"""How does a block begin, change and end? By what the team says, what infra people find, and what machines measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, NotAllowed
from portal.ledger.services import record
from provisioning import interface
from requests_app import events
from requests_app.blocks.models import BlockAmendment, BlockInterval, BlockPerson, EndSource
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import locked
from requests_app.tickets.states import OPEN


@dataclass(frozen=True, kw_only=True)
class BlockClaim:
    """What a team says about being blocked: since when, how many people, GPUs that stand idle, and what stops it.

    `resource` is the SKU or the cluster whose GPUs are idle, empty when nobody said; `who` are user names of the team.
    """

    since: datetime
    people: int
    idle_gpus: int
    what: str
    resource: str = ""
    who: Sequence[str] = ()


@transaction.atomic
def open_block(*, ticket: Ticket, claim: BlockClaim, by: User) -> BlockInterval:
    """Start an interval; Conflict when one is open: a ticket has one at a time, which the database keeps true."""
    now_is = locked(ticket).status
    if now_is not in OPEN:
        raise IllegalMove(f"{ticket.ref} is {now_is}; a block belongs to a request that goes on.")
    persons = _persons(ticket, claim.who)
    _check_resource(ticket, claim)
    try:
        with transaction.atomic():
            block = BlockInterval.objects.create(
                ticket=ticket,
                started_at=claim.since,
                people=max(claim.people, len(persons)),
                idle_gpus=claim.idle_gpus,
                resource=claim.resource,
                what=claim.what,
                claimed_by=by,
            )
    except IntegrityError as problem:
        raise Conflict(
            f"{ticket.ref} is blocked already; correct the facts of that block instead.",
            code="already-blocked",
        ) from problem
    if ticket.blocked_since != block.started_at:  # a request that is filed with its block carries it already
        _mirror(ticket, block)
    record(events.BLOCK_OPENED, subject=ticket.ref, payload=_said(ticket, block), by=by)
    _name(ticket, block, persons, by)
    return block


@transaction.atomic
def amend_block(*, ticket: Ticket, version: int, claim: BlockClaim, by: User) -> BlockInterval:
    """Correct the facts of the open block; what they were is kept. Since when stays: a new time is a new block."""
    locked(ticket, version)
    block = _open_block(ticket)
    persons = _persons(ticket, claim.who)
    _check_resource(ticket, claim)
    BlockAmendment.objects.create(
        block=block,
        by=by,
        people_before=block.people,
        idle_gpus_before=block.idle_gpus,
        resource_before=block.resource,
        what_before=block.what,
    )
    was = _facts(block)
    block.people, block.idle_gpus = max(claim.people, len(persons)), claim.idle_gpus
    block.resource, block.what = claim.resource, claim.what
    block.confirmed_at, block.confirmed_by = None, None  # infra people confirmed other facts
    block.save(update_fields=["people", "idle_gpus", "resource", "what", "confirmed_at", "confirmed_by"])
    _mirror(ticket, block)
    payload = {**_said(ticket, block), "was": was}
    record(events.BLOCK_AMENDED, subject=ticket.ref, payload=payload, by=by)
    _name(ticket, block, persons, by)
    return block


@transaction.atomic
def confirm_person(*, ticket: Ticket, half: bool = False, by: User) -> BlockPerson:
    """A person's own click: they can't work because of this (`half`: at half speed). Who was not named joins by it."""
    return _speak(ticket, by, confirmed=True, half=half)


@transaction.atomic
def refuse_person(*, ticket: Ticket, by: User) -> BlockPerson:
    """A person's own click: they can work. It takes them off the count."""
    return _speak(ticket, by, confirmed=False, half=False)


def _speak(ticket: Ticket, by: User, *, confirmed: bool, half: bool) -> BlockPerson:
    block = _open_block(ticket)
    if not by.belongs_to(ticket.team):
        raise NotAllowed(f"Only members of {ticket.team.name} say whether they can work.")
    person, _ = BlockPerson.objects.get_or_create(block=block, user=by, defaults={"named_by": by})
    person = BlockPerson.objects.select_for_update().get(pk=person.pk)
    said = (person.confirmed_at is not None, person.refused_at is not None, person.half)
    if said == (confirmed, not confirmed, half):
        return person
    person.confirmed_at, person.refused_at = (now(), None) if confirmed else (None, now())
    person.half = half
    person.save(update_fields=["confirmed_at", "refused_at", "half"])
    answer = ("half" if half else "confirmed") if confirmed else "refused"
    payload = {"team": ticket.team.slug, "block": block.pk, "person": by.username, "answer": answer}
    record(events.BLOCK_PERSON_SPOKE, subject=ticket.ref, payload=payload, by=by)
    return person


@transaction.atomic
def find_blocked(*, ticket: Ticket, by: User) -> BlockInterval:
    """An infra person looked and found it so: the claim counts 0.8 from now on. Twice does no harm."""
    if not by.is_infra:
        raise NotAllowed("Only infra people confirm what a team says of its block.")
    block = _open_block(ticket)
    if block.confirmed_at is not None:
        return block
    block.confirmed_at, block.confirmed_by = now(), by
    block.save(update_fields=["confirmed_at", "confirmed_by"])
    _mirror(ticket, block)
    record(events.BLOCK_FOUND, subject=ticket.ref, payload=_said(ticket, block), by=by)
    return block


@transaction.atomic
def end_block(
    *, ticket: Ticket, by: User | None, source: EndSource = EndSource.CONFIRMED, at: datetime | None = None
) -> timedelta | None:
    """End the open interval (`at`, now when silent) and say how long it was.

    None when none is open, so that twice does no harm. The ticket may be closed long since: closing ends no block.
    """
    block = BlockInterval.objects.select_for_update().filter(ticket=ticket, ended_at=None).first()
    if block is None:
        return None
    block.ended_at, block.ended_by, block.end_source = max(at or now(), block.started_at), by, source
    block.save(update_fields=["ended_at", "ended_by", "end_source"])
    lasted = block.ended_at - block.started_at
    relieved: dict[str, Any] = {"blocked_since": None, "blocked_people": 0, "idle_gpus": 0}
    Ticket.objects.filter(pk=ticket.pk).update(version=F("version") + 1, **relieved)
    ticket.refresh_from_db()
    payload = {**_said(ticket, block), "seconds": int(lasted.total_seconds()), "source": str(source)}
    record(events.TICKET_RELIEVED, subject=ticket.ref, payload=payload, by=by)
    return lasted


def _open_block(ticket: Ticket) -> BlockInterval:
    block = BlockInterval.objects.select_for_update().filter(ticket=ticket, ended_at=None).first()
    if block is None:
        raise IllegalMove(f"{ticket.ref} isn't blocked, as far as anybody said.", data={"ticket": ticket.ref})
    return block


def _persons(ticket: Ticket, who: Sequence[str]) -> list[User]:
    """The named people; Invalid for who isn't in the team now."""
    names = list(dict.fromkeys(who))
    found = {
        user.username: user
        for user in User.objects.filter(username__in=names, memberships__team=ticket.team_id)
    }
    strangers = [name for name in names if name not in found]
    if strangers:
        raise Invalid({"who": [f"Not in {ticket.team.name}: {', '.join(strangers)[:200]}."]})
    return [found[name] for name in names]


def _name(ticket: Ticket, block: BlockInterval, persons: Sequence[User], by: User) -> None:
    """Name who is not named yet; they are asked for their own click."""
    there = set(block.persons.values_list("user_id", flat=True))
    fresh = [person for person in persons if person.pk not in there]
    if not fresh:
        return
    rows = [BlockPerson(block=block, user=person, named_by=by) for person in fresh]
    BlockPerson.objects.bulk_create(rows, ignore_conflicts=True)
    payload = {
        "team": ticket.team.slug,
        "block": block.pk,
        "mentions": [person.pk for person in fresh],
        "names": ", ".join(person.username for person in fresh),
    }
    record(events.BLOCK_PEOPLE_NAMED, subject=ticket.ref, payload=payload, by=by)


def _check_resource(ticket: Ticket, claim: BlockClaim) -> None:
    """A resource is a SKU or a cluster of the team; a cluster can't have more idle GPUs than it has."""
    if not claim.resource or claim.resource in {sku.slug for sku in interface.skus()}:
        return
    clusters = {cluster.ref: cluster for cluster in interface.clusters_of(ticket.team.slug)}
    cluster = clusters.get(claim.resource)
    if cluster is None:
        raise Invalid({"resource": ["Name a kind of node or a cluster of your team."]})
    if claim.idle_gpus > cluster.gpus:
        raise Invalid({"idle_gpus": [f"{cluster.ref} has {cluster.gpus} GPUs."]})


def _mirror(ticket: Ticket, block: BlockInterval) -> None:
    """The ticket carries its open block's facts for lists, and a new version for who has it open."""
    facts: dict[str, Any] = {
        "blocked_since": block.started_at,
        "blocked_people": block.people,
        "idle_gpus": block.idle_gpus,
    }
    Ticket.objects.filter(pk=ticket.pk).update(version=F("version") + 1, **facts)
    ticket.refresh_from_db(fields=["version", *facts])


def _facts(block: BlockInterval) -> dict[str, Any]:
    return {
        "people": block.people,
        "idle_gpus": block.idle_gpus,
        "resource": block.resource,
        "what": block.what,
    }


def _said(ticket: Ticket, block: BlockInterval) -> dict[str, Any]:
    since = block.started_at.isoformat()
    return {"team": ticket.team.slug, "block": block.pk, "since": since, **_facts(block)}
