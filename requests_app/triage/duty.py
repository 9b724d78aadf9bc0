"""Who is on triage duty now, and who says so? Shifts as rows, the pure rota decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from django.db import transaction

from portal.accounts.models import User, named
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from portal.ledger.services import record
from requests_app import events
from requests_app.tickets.deciders import only_triagers
from requests_app.triage import rota
from requests_app.triage.models import DutyShift


@dataclass(frozen=True, kw_only=True)
class Duty:
    """Who is on duty now, and who is next when nobody is."""

    person: User | None
    next_person: User | None = None
    next_at: datetime | None = None


def shifts() -> list[DutyShift]:
    """Every shift that isn't over for good, oldest first."""
    rows = DutyShift.objects.select_related("person").filter(person__is_active=True).order_by("id")
    rows = rows.only("zone", "since", "until", "weekdays", "begins", "ends", *named("person"))
    return [row for row in rows if row.until is None or row.until >= now().date()]


def duty_now() -> Duty:
    """In one query."""
    rows = {row.pk: row for row in shifts()}
    plain = [as_shift(row) for row in rows.values()]
    found = rota.on_duty(plain, now())
    if found is not None:
        return Duty(person=rows[found.order].person)
    following = rota.next_duty(plain, now())
    if following is None:
        return Duty(person=None)
    return Duty(person=None, next_person=rows[following[1].order].person, next_at=following[0])


def as_shift(row: DutyShift) -> rota.Shift:
    """The row as the rota takes it; a later row wins over an earlier one."""
    return rota.Shift(
        person=row.person.username,
        zone=row.zone,
        since=row.since,
        until=row.until,
        weekdays=frozenset(row.weekdays),
        begins=row.begins,
        ends=row.ends,
        order=row.pk or 0,
    )


@transaction.atomic
def set_shift(
    *,
    person: User,
    zone: str,
    since: date,
    until: date | None,
    weekdays: Sequence[int],
    begins: time,
    ends: time,
    by: User,
) -> DutyShift:
    """Put somebody on the rota. Invalid by field."""
    only_triagers(by)
    row = DutyShift(
        person=person,
        zone=zone,
        since=since,
        until=until,
        weekdays=sorted(set(weekdays)),
        begins=begins,
        ends=ends,
    )
    found = rota.complaints(as_shift(row))
    if not person.is_triager:
        found["person"] = [f"{person.username} has no desk; choose a triager."]
    if found:
        raise Invalid(found)
    row.save()
    payload = {"person": person.username, "shift": str(row), "weekdays": row.weekdays}
    record(events.DUTY_SET, subject="desk:rota", payload=payload, by=by)
    return row


@transaction.atomic
def drop_shift(*, number: int, by: User) -> None:
    """Take a shift off the rota."""
    only_triagers(by)
    row = DutyShift.objects.select_related("person").filter(pk=number).first()
    if row is None:
        raise NotFound("There is no such shift.")
    record(
        events.DUTY_DROPPED,
        subject="desk:rota",
        payload={"person": row.person.username, "shift": str(row)},
        by=by,
    )
    row.delete()
