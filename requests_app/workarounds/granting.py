"""How is a workaround given? The relief, its end, its price, and for a far-from-focus ask its project, in ONE transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, Refused
from requests_app import events
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import stale
from requests_app.tickets.states import OPEN as OPEN_TICKETS
from requests_app.workarounds import said
from requests_app.workarounds.ageing import DEFAULT_RESIDUAL
from requests_app.workarounds.carrying_out import begin
from requests_app.workarounds.kinds import Kind, Risk, class_of, complaints_about
from requests_app.workarounds.ladder import said_at_the_start
from requests_app.workarounds.models import PillarCap, Workaround
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.replacing import (
    DESK,
    Plan,
    create_replacement,
    infra_person,
    want,
)
from requests_app.workarounds.states import WORKAROUND
from requests_app.workarounds.telling import tell


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is granted. `days` is its term; `interest_hours` what it costs infra a week; `residual` in [0, 1]."""

    kind: str
    params: Mapping[str, Any]
    summary: str
    closure_test: str
    days: int
    owner: User | None = None
    starts_at: datetime | None = None
    review_on: date | None = None
    interest_hours: Decimal | float | str = Decimal(0)
    risk: str = Risk.LOW.value
    risk_words: str = ""
    residual: float = DEFAULT_RESIDUAL
    tag: str = ""
    with_project: bool = False
    plan: Plan = field(default_factory=Plan)


@transaction.atomic
def grant_workaround(*, ticket: Ticket, version: int, terms: Terms, by: User) -> Workaround:
    """Give it and begin it. Raises Invalid by field, LostRace for a ticket that changed, Refused at the pillar's cap.

    A far-from-focus ask gets its replacement at the same moment, or joins the one its class has.
    """
    only_triagers(by, DESK)
    row = _row(ticket, terms, by)
    _claim(ticket, version)
    _keep_the_cap(row.pillar)
    row.replacement = _replacement(row, terms, by)
    row.save()
    if row.replacement is not None:
        want(row.replacement, ticket=ticket, by=by)
    tell(events.WORKAROUND_GRANTED, row, closure_test=row.closure_test, risk=row.risk, by=by)
    if row.starts_at <= now():
        begin(row, by=by)
    return row


def _row(ticket: Ticket, terms: Terms, by: User) -> Workaround:
    kind, risk = _one_of("kind", Kind, terms.kind), _one_of("risk", Risk, terms.risk)
    complaints = complaints_about(Kind(kind), terms.params)
    if complaints:
        raise Invalid(complaints)
    at = now()
    starts = said.start_of("starts_at", terms.starts_at or at, now=at)
    expires = starts + timedelta(days=said.days_of("days", terms.days))
    closure_test = said.text_of("closure_test", terms.closure_test)
    tag = said.line_of("tag", terms.tag, needed=False, limit=60)
    version = ticket.offering_version
    return Workaround(
        ticket=ticket,
        kind=kind,
        pillar=version.pillar,
        class_key=class_of(
            offering=version.offering.slug, kind=Kind(kind), tag=tag, closure_test=closure_test
        ),
        tag=tag,
        summary=said.line_of("summary", terms.summary),
        params=dict(terms.params),
        owner=infra_person("owner", terms.owner or by),
        approved_by=by,
        starts_at=starts,
        review_on=_review_on(terms.review_on, starts, expires),
        expires_at=expires,
        closure_test=closure_test,
        interest_hours=said.hours_of("interest_hours", terms.interest_hours),
        risk=risk,
        risk_words=said.text_of("risk_words", terms.risk_words, needed=risk != Risk.LOW),
        residual=said.share_of("residual", terms.residual),
        warned_days=said_at_the_start(ends_at=expires, at=starts),
        status=WORKAROUND.initial,
    )


def _one_of(name: str, choices: type[Kind] | type[Risk], value: str) -> str:
    if value not in {str(each) for each in choices}:
        raise Invalid({name: [f"Choose one of: {', '.join(choices)}."]})
    return value


def _review_on(day: date | None, starts: datetime, expires: datetime) -> date:
    """Half-way when nobody says a day."""
    if day is None:
        return (starts + (expires - starts) / 2).date()
    if not starts.date() <= day <= expires.date():
        raise Invalid({"review_on": ["A day between its start and its end."]})
    return day


def _claim(ticket: Ticket, version: int) -> None:
    """The ticket is as the granter saw it; the second of two granters is told."""
    claimed = Ticket.objects.filter(pk=ticket.pk, version=version, status__in=OPEN_TICKETS)
    if claimed.update(version=version + 1):
        ticket.version = version + 1
        return
    fresh = Ticket.objects.get(pk=ticket.pk)
    data = {"ticket": fresh.ref, "now": fresh.status, "version": fresh.version}
    if fresh.version == version:
        raise Conflict(
            f"{fresh.ref} is {fresh.status}; nobody needs a workaround for it any more.", data=data
        )
    raise stale(fresh)


def _keep_the_cap(pillar: str) -> None:
    """Refused with the numbers and with whose end would make room. The cap's row is locked until the commit."""
    PillarCap.objects.get_or_create(pillar=pillar)
    cap = PillarCap.objects.select_for_update().get(pillar=pillar)
    rows = Workaround.objects.still_open().filter(pillar=pillar)
    count = rows.count()
    if count < cap.most:
        return
    near = list(rows.select_related("owner").order_by("expires_at")[:5])
    could = [
        {"workaround": row.ref, "owner": row.owner.username, "until": row.expires_at.isoformat()}
        for row in near
    ]
    ends = "; ".join(f"{row.ref} ({row.owner.username}, until {row.expires_at:%d %B})" for row in near)
    raise Refused(
        f"{pillar.replace('-', ' ').capitalize()} has {count} of {cap.most} workarounds open."
        + (f" End one first: {ends}." if near else ""),
        code="workaround-cap",
        data={"pillar": pillar, "open": count, "most": cap.most, "could_end": could},
    )


def _replacement(row: Workaround, terms: Terms, by: User) -> Replacement | None:
    if not (row.ticket.offering_version.is_far_from_focus or terms.with_project):
        return None
    living = Replacement.objects.live().select_for_update().filter(class_key=row.class_key).first()
    return living or create_replacement(
        pillar=row.pillar, class_key=row.class_key, plan=terms.plan, summary=row.summary, by=by
    )
