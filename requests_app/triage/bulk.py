"""How is one thing done to many tickets? Over a frozen selection, in batches, each row by the service that does one, with a
report of who failed and why.

A selection keeps which tickets and which versions it saw, so that what is done is what was counted. A run that was cut
off goes on with the rows that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, PortalError, Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import holding, locked
from requests_app.triage import services
from requests_app.triage.claiming import assign_ticket
from requests_app.triage.filters import Filters, read_filters
from requests_app.triage.inbox import MOST, desk, known_names
from requests_app.triage.models import BulkRow, BulkRun, RowEnd
from requests_app.triage.reasons import REASONS
from requests_app.triage.snoozing import snooze_ticket
from requests_app.triage.states import MACHINE, BulkAction, BulkState

BATCH = 100
AT_ONCE = 50
"""Runs of so many rows are done in the request; larger ones by a worker."""

Arguments = Mapping[str, Any]


@transaction.atomic
def freeze(*, filters: Mapping[str, str], refs: Sequence[str] = (), by: User) -> BulkRun:
    """Keep what matches right now, or of that only `refs`. UnknownParameter for a filter that there is not: nothing is kept."""
    only_triagers(by)
    read = read_filters(filters, beside=frozenset())
    known_names(read)
    rows = _selected(by, read, refs)
    if len(rows) > MOST:
        raise Refused(f"More than {MOST:,} requests match; narrow the filters.", data={"nearest_yes": MOST})
    if not rows:
        raise Invalid({"filters": ["Nothing matches; there is nothing to do."]})
    run = BulkRun.objects.create(status=BulkState.FROZEN, by=by, filters=read.as_query(), total=len(rows))
    BulkRow.objects.bulk_create(
        [BulkRow(run=run, ticket_id=number, seen=version) for number, version in rows], batch_size=2_000
    )
    record(
        events.BULK_FROZEN,
        subject=f"desk:bulk:{run.pk}",
        payload={"total": run.total, "filters": run.filters},
        by=by,
    )
    return run


def _selected(by: User, filters: Filters, refs: Sequence[str]) -> list[tuple[int, int]]:
    rows = desk(by, filters).select_related(None)
    if refs:
        numbers = [int(ref[2:]) for ref in refs if ref.startswith("T-") and ref[2:].isdecimal()]
        rows = rows.filter(pk__in=numbers[:MOST])
    return list(rows.order_by("id").values_list("id", "version")[: MOST + 1])


@transaction.atomic
def begin(*, run: BulkRun, version: int, verb: str, arguments: Arguments, by: User) -> BulkRun:
    """Say what is done to the selection; its author alone does. Invalid by field, and nothing has begun."""
    only_triagers(by)
    fresh = BulkRun.objects.select_for_update().get(pk=run.pk)
    if fresh.by_id != by.pk:
        raise Conflict("This selection was made by somebody else; make one of your own.")
    if fresh.version != version:
        raise Conflict(f"This selection is {fresh.status} already.", data={"now": fresh.status})
    kept = check(verb, arguments)
    move(fresh, BulkAction.BEGIN, machine=MACHINE, extra={"verb": verb, "arguments": kept})
    payload = {"verb": verb, "total": fresh.total, **kept}
    record(events.BULK_BEGAN, subject=f"desk:bulk:{fresh.pk}", payload=payload, by=by)
    return fresh


@transaction.atomic
def cancel(*, run: BulkRun, by: User) -> BulkRun:
    """Stop a run; what is done stays done, and the report says what is not."""
    only_triagers(by)
    fresh = BulkRun.objects.select_for_update().get(pk=run.pk)
    move(fresh, BulkAction.CANCEL, machine=MACHINE, extra={"ended_at": now()})
    _tell_end(fresh)
    return fresh


def work(run_id: int, *, batches: int | None = None) -> bool:
    """Do what is left of a run, batch by batch, each in a transaction of its own; True when it is over.

    Two workers never do the same rows: the run's own row is locked while a batch is done, and who finds it locked goes away.
    """
    done = 0
    while batches is None or done < batches:
        if _one_batch(run_id):
            return True
        done += 1
    return False


@transaction.atomic
def _one_batch(run_id: int) -> bool:
    rows = BulkRun.objects.select_for_update(skip_locked=True, of=("self",)).select_related("by")
    run = rows.filter(pk=run_id, status=BulkState.RUNNING).first()
    if run is None:
        return True
    pending = BulkRow.objects.filter(run=run, ending=RowEnd.PENDING).order_by("id")
    batch = list(pending[:BATCH])
    to = _person(run.arguments)
    with holding([row.ticket_id for row in batch]) as tickets:
        for row in batch:
            _one(run, row, tickets[row.ticket_id], to)
    failed = [row for row in batch if row.ending == RowEnd.FAILED]
    BulkRow.objects.filter(pk__in=[row.pk for row in batch]).update(ending=RowEnd.DONE, said="")
    BulkRow.objects.bulk_update(failed, ["ending", "said"])
    if len(batch) == BATCH and pending.exists():
        return False
    move(run, BulkAction.FINISH, machine=MACHINE, extra={"ended_at": now()})
    _tell_end(run)
    return True


def _one(run: BulkRun, row: BulkRow, ticket: Ticket, to: User | None) -> None:
    """One ticket, by the service that does one, whole or not at all; what fails is said and stops nobody else."""
    try:
        _DOERS[run.verb](ticket, row.seen, {**run.arguments, "to": to}, run.by)
    except PortalError as problem:
        row.ending, row.said = RowEnd.FAILED, problem.message[:300]
    else:
        row.ending, row.said = RowEnd.DONE, ""


def _tell_end(run: BulkRun) -> None:
    payload = {"verb": run.verb, "total": run.total, "state": run.status, **progress(run)}
    record(events.BULK_ENDED, subject=f"desk:bulk:{run.pk}", payload=payload, by=run.by)


def progress(run: BulkRun) -> dict[str, int]:
    """How many rows are done, failed, and left; a run that ended keeps its left ones as left."""
    counted = dict(BulkRow.objects.filter(run=run).values_list("ending").annotate(count=Count("id")))
    return {
        "done": counted.get(RowEnd.DONE, 0),
        "failed": counted.get(RowEnd.FAILED, 0),
        "left": counted.get(RowEnd.PENDING, 0),
    }


def unfinished() -> list[int]:
    """Numbers of runs that should go on."""
    return list(BulkRun.objects.filter(status=BulkState.RUNNING).order_by("id").values_list("id", flat=True))


def check(verb: str, arguments: Arguments) -> dict[str, Any]:
    """The arguments of a verb as they are kept; Invalid by field for what the verb doesn't take or can't use."""
    if verb not in _DOERS:
        raise Invalid({"verb": [f"Choose one of: {', '.join(_DOERS)}."]})
    takes = TAKES[verb]
    given = {name: value for name, value in arguments.items() if value not in (None, "")}
    complaints = {name: [f"{verb} takes no {name}."] for name in given if name not in takes}
    complaints.update(
        {name: ["This is needed."] for name, needed in takes.items() if needed and name not in given}
    )
    if "reason_code" in given and given["reason_code"] not in REASONS:
        complaints["reason_code"] = [f"Choose one of: {', '.join(REASONS)}."]
    if "assignee" in given and _person(given) is None:
        complaints["assignee"] = ["Choose a triager."]
    if "until" in given:
        complaints.update(_about_time(given))
    if complaints:
        raise Invalid(complaints)
    return {name: str(value) for name, value in given.items()}


def _about_time(given: dict[str, Any]) -> dict[str, list[str]]:
    until = given["until"]
    if isinstance(until, str):
        try:
            until = datetime.fromisoformat(until)
        except ValueError:
            return {"until": ["Use a date and a time with its zone."]}
    if until.tzinfo is None or until <= now():
        return {"until": ["Use a moment to come, with its zone."]}
    given["until"] = until.isoformat()
    return {}


def _person(arguments: Arguments) -> User | None:
    name = arguments.get("assignee")
    person = User.objects.filter(username=name).first() if name else None
    return person if person is not None and person.is_triager else None


def _tag(ticket: Ticket, version: int, given: Arguments, by: User) -> None:
    fresh = locked(ticket, version)
    was, fresh.reason_code = fresh.reason_code, str(given["reason_code"])
    fresh.version += 1
    fresh.save(update_fields=["reason_code", "version"])
    payload = {"reason_code": fresh.reason_code, "was": was}
    record(events.TICKET_TAGGED, subject=fresh.ref, payload=payload, by=by)


def _snooze(ticket: Ticket, version: int, given: Arguments, by: User) -> None:
    until = datetime.fromisoformat(given["until"]) if given.get("until") else None
    snooze_ticket(ticket=ticket, version=version, until=until, reason=given.get("reason", ""), by=by)


def _decline(ticket: Ticket, version: int, given: Arguments, by: User) -> None:
    reason = given.get("reason") or REASONS[given["reason_code"]]
    services.decline_ticket(
        ticket=ticket,
        version=version,
        reason_code=given["reason_code"],
        reason=reason,
        nearest_yes=given.get("nearest_yes", ""),
        by=by,
    )


def _assign(ticket: Ticket, version: int, given: Arguments, by: User) -> None:
    assign_ticket(ticket=ticket, version=version, to=given["to"], by=by)


def _ask(ticket: Ticket, version: int, given: Arguments, by: User) -> None:
    services.ask_back(ticket=ticket, version=version, question=given["question"], by=by)


_DOERS: dict[str, Callable[[Ticket, int, Arguments, User], None]] = {
    "assign": _assign,
    "snooze": _snooze,
    "decline": _decline,
    "tag": _tag,
    "ask": _ask,
}
TAKES: dict[str, dict[str, bool]] = {
    "assign": {"assignee": True},
    "snooze": {"until": False, "reason": False},
    "decline": {"reason_code": True, "reason": False, "nearest_yes": False},
    "tag": {"reason_code": True},
    "ask": {"question": True},
}
BULK_VERBS = tuple(_DOERS)
