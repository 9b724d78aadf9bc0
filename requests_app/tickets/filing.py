"""How does a filled form become a ticket? Once per token, however often it is sent."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks import rules as block_rules
from requests_app.blocks.services import BlockClaim, open_block
from requests_app.catalogue import texts
from requests_app.catalogue.answers import clean_answers
from requests_app.catalogue.live import live_for
from requests_app.catalogue.models import OfferingVersion
from requests_app.catalogue.questions import Live, questions_of
from requests_app.catalogue.specs import LineSpec, lines_of, title_of
from requests_app.tickets.models import Draft, Line, Ticket
from requests_app.tickets.states import MACHINE

_TOKEN = re.compile(r"[\x21-\x7e]{1,80}")


def submit_ticket(
    *,
    offering_version: OfferingVersion,
    team: Team,
    answers: Mapping[str, Any],
    blocked: Mapping[str, Any] | None = None,
    token: str | None = None,
    by: User,
) -> Ticket:
    """File a request of `team`: validated against the pinned offering, with its lines and its block.

    `blocked` holds `since` (aware datetime), `people`, `idle_gpus`, `what`, and may hold `resource` and `who`. The same `token` with the same content
    gives the same ticket again; with other content it is Refused. Raises Invalid with complaints by question, or by
    `blocked.NAME`.
    """
    _may_file(team, by)
    digest = _digest(offering_version, team, answers, blocked)
    filed = _filed_before(token, digest, by)
    if filed is not None:
        return filed
    _is_on_the_shelf(offering_version)
    live = live_for(team)
    good, claim = _checked(offering_version, answers, blocked, live)
    try:
        with transaction.atomic():
            return _file(offering_version, team, good, claim, token, digest, live, by)
    except IntegrityError:
        filed = _filed_before(token, digest, by)
        if filed is None:
            raise
        return filed


def _may_file(team: Team, by: User) -> None:
    if by.belongs_to(team):
        return
    if by.is_infra:
        raise NotAllowed(f"Only members of {team.name} file requests for it.")
    raise NotFound(f"There is no team {team.slug} of yours.")


def _is_on_the_shelf(version: OfferingVersion) -> None:
    offering = version.offering
    if offering.retired_at is not None:
        raise Conflict(f"{version.title} is no longer offered.", code="offering-retired")
    if offering.current_id != version.pk:
        raise Conflict(
            f"{version.title} has changed since you opened it; look over the form again.",
            code="offering-changed",
            data={"seen": version.number},
        )


def _digest(
    version: OfferingVersion, team: Team, answers: Mapping[str, Any], blocked: Mapping[str, Any] | None
) -> str:
    said = [version.offering.slug, team.slug, answers, blocked]
    plain = json.dumps(said, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _filed_before(token: str | None, digest: str, by: User) -> Ticket | None:
    """The ticket this token has filed; Refused when it was about something else."""
    if token is None:
        return None
    if _TOKEN.fullmatch(token) is None:
        raise Invalid({"token": ["Use 1 to 80 printable characters without spaces."]})
    ticket = Ticket.objects.for_pages().filter(requester=by, submission_token=token).first()
    if ticket is not None and ticket.submission_hash != digest:
        raise Refused(
            f"This was filed already as {ticket.ref}, with other content. Start anew for another request.",
            code="idempotency-key-reused",
            data={"ticket": ticket.ref},
        )
    return ticket


def _checked(
    version: OfferingVersion, answers: Mapping[str, Any], blocked: Mapping[str, Any] | None, live: Live
) -> tuple[dict[str, Any], BlockClaim | None]:
    """Good answers and a good claim, or one Invalid with all that is wrong with both."""
    at = now()
    fields: dict[str, list[str]] = {}
    good: dict[str, Any] = {}
    try:
        good = clean_answers(questions_of(version.content), answers, live=live, today=at.date())
    except Invalid as problem:
        fields.update(problem.fields)
    claim = None
    if blocked is not None:
        claim, complaints = _claim(blocked, at)
        fields.update({f"blocked.{name}": said for name, said in complaints.items()})
    if fields:
        raise Invalid(fields)
    return good, claim


def _claim(blocked: Mapping[str, Any], at: datetime) -> tuple[BlockClaim | None, dict[str, list[str]]]:
    what = blocked.get("what")
    tidy = {
        **blocked,
        "what": texts.tidy(what, limit=block_rules.LONGEST_WHAT) if isinstance(what, str) else what,
    }
    complaints = block_rules.complaints(tidy, now=at)
    unknown = sorted(set(tidy) - block_rules.FACTS)
    complaints.update({str(name)[:40]: ["There is no such question."] for name in unknown})
    return (None if complaints else BlockClaim(**tidy)), complaints


def _file(
    version: OfferingVersion,
    team: Team,
    answers: dict[str, Any],
    claim: BlockClaim | None,
    token: str | None,
    digest: str,
    live: Live,
    by: User,
) -> Ticket:
    specs = lines_of(version.content, answers, live=live)
    ticket = Ticket.objects.create(
        status=MACHINE.initial,
        team=team,
        requester=by,
        offering_version=version,
        title=title_of(version.content, answers),
        answers=answers,
        submission_token=token,
        submission_hash="" if token is None else digest,
        blocked_since=None if claim is None else claim.since,
        blocked_people=0 if claim is None else claim.people,
        idle_gpus=0 if claim is None else claim.idle_gpus,
    )
    Line.objects.bulk_create(_line(ticket, position, spec) for position, spec in enumerate(specs, start=1))
    if token is not None:
        Draft.objects.filter(user=by, token=token).delete()
    record(events.TICKET_SUBMITTED, subject=ticket.ref, payload=_said(ticket, specs, claim), by=by)
    if claim is not None:
        open_block(ticket=ticket, claim=claim, by=by)
    return ticket


def _line(ticket: Ticket, position: int, spec: LineSpec) -> Line:
    return Line(
        ticket=ticket,
        position=position,
        what=spec.what,
        fulfilment=spec.fulfilment,
        asks=spec.asks,
        days=spec.days,
        sku=spec.sku,
        label=spec.label,
        unit=spec.unit,
        asked_qty=spec.quantity,
        wanted_by=spec.wanted_by,
        until=None if spec.days is None else ticket.submitted_at + timedelta(days=spec.days),
    )


def _said(ticket: Ticket, specs: tuple[LineSpec, ...], claim: BlockClaim | None) -> dict[str, Any]:
    version = ticket.offering_version
    return {
        "team": ticket.team.slug,
        "title": ticket.title,
        "offering": version.offering.slug,
        "offering_version": version.number,
        "lines": [
            {
                "position": position,
                "label": spec.label,
                "sku": spec.sku,
                "asked": spec.quantity,
                "unit": spec.unit,
            }
            for position, spec in enumerate(specs, start=1)
        ],
        "blocked": claim is not None,
    }
