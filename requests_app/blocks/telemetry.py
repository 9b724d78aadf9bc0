"""What do machines say of a block? Measured idle GPUs, once per key; a measurement beats a claim and may end a block."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks.models import BlockInterval, EndSource, IdleReading
from requests_app.blocks.services import end_block
from requests_app.tickets.models import Ticket

LONGEST_KEY = 80
CLOCK_SLACK = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How many GPUs stood idle at `at`. `busy_since` says that all of them work again since then, which ends the block."""

    key: str
    at: datetime
    idle_gpus: int
    resource: str = ""
    busy_since: datetime | None = None


@transaction.atomic
def report_idle(*, ticket: Ticket, reading: Reading, by: User) -> IdleReading:
    """Keep a reading. The same key with the same content gives the same row again; with other content it is Refused."""
    if not by.is_operator:
        raise NotAllowed("Measurements come from who operates the fleet, not from who is blocked.")
    _check(reading)
    row, fresh = IdleReading.objects.get_or_create(
        reported_by=by,
        key=reading.key,
        defaults={
            "ticket": ticket,
            "at": reading.at,
            "idle_gpus": reading.idle_gpus,
            "resource": reading.resource,
        },
    )
    if not fresh:
        return _same(row, ticket, reading)
    if _is_news(row):
        payload = {
            "team": ticket.team.slug,
            "idle_gpus": row.idle_gpus,
            "at": row.at.isoformat(),
            "resource": row.resource,
        }
        record(events.BLOCK_MEASURED, subject=ticket.ref, payload=payload, by=by)
    if reading.busy_since is not None:
        _end(ticket, reading.busy_since, by)
    return row


def _end(ticket: Ticket, busy_since: datetime, by: User) -> None:
    """A block that began later than the GPUs were busy again is another one."""
    block = BlockInterval.objects.filter(ticket=ticket, ended_at=None).first()
    if block is not None and block.started_at <= busy_since:
        end_block(ticket=ticket, by=by, source=EndSource.MEASURED, at=busy_since)


def _check(reading: Reading) -> None:
    complaints: dict[str, list[str]] = {}
    if not reading.key or len(reading.key) > LONGEST_KEY or not reading.key.isprintable():
        complaints["key"] = [f"Use 1 to {LONGEST_KEY} printable characters."]
    if reading.at > now() + CLOCK_SLACK:
        complaints["at"] = ["This is still to come."]
    if reading.busy_since is not None and reading.busy_since > reading.at:
        complaints["busy_since"] = ["Busy since a moment after the measurement?"]
    if reading.busy_since is not None and reading.idle_gpus:
        complaints["idle_gpus"] = ["GPUs that are busy again are not idle: use 0."]
    if complaints:
        raise Invalid(complaints)


def _same(row: IdleReading, ticket: Ticket, reading: Reading) -> IdleReading:
    said = (ticket.pk, reading.at, reading.idle_gpus, reading.resource)
    if (row.ticket_id, row.at, row.idle_gpus, row.resource) != said:
        raise Refused(
            "This key was used for another measurement.", code="idempotency-key-reused", data={"key": row.key}
        )
    return row


def _is_news(row: IdleReading) -> bool:
    """True when it is the latest of its ticket and says something else than the one before."""
    others = IdleReading.objects.filter(ticket=row.ticket_id).exclude(pk=row.pk)
    if others.filter(at__gt=row.at).exists():
        return False
    before = others.order_by("-at", "-id").first()
    return before is None or before.idle_gpus != row.idle_gpus
