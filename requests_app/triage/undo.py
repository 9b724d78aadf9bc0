"""What can be taken back, for how long, and how? An act at the desk, by who did it, while nothing else has happened since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import models, transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, NotFound
from portal.kernel.moves import move
from portal.kernel.refs import format_ref
from portal.ledger.models import Event
from portal.ledger.services import record
from requests_app import events
from requests_app.relations.services import forget_merge
from requests_app.tickets.lines import reopen
from requests_app.tickets.models import Line, LineVerdict, Ticket
from requests_app.tickets.states import MACHINE, TicketAction, TicketState
from requests_app.triage.models import Undo
from requests_app.triage.snoozing import end_snooze

WINDOW = timedelta(seconds=10)
GRACE = timedelta(seconds=2)
"""What a click at the last moment needs to arrive."""

COLUMNS = (
    *("status", "assignee_id", "question", "reason_code", "reason", "nearest_yes", "note"),
    *("decided_at", "decided_by_id", "waiting_since", "paused_seconds", "state_since"),
    *("snoozed_until", "merged_into_id"),
)
_KEPT = frozenset({"verdict", "granted_qty", "decided_at", "decided_by_id", "in_offer", "awaits_team"})
"""A verdict is kept for ever: taking one back puts its line before the desk in another round."""
_LINE_COLUMNS = tuple(
    field.attname for field in Line._meta.concrete_fields if field.attname not in {"id", "ticket_id", "round"}
)


_OFFERED = ("by", "verb", "says", "until", "undone_at", "ticket__id")


def snapshot(ticket: Ticket) -> dict[str, Any]:
    """What an act may change, as it is now: columns of the ticket and of each line, as JSON."""
    lines = {str(line.pk): _columns(line, _LINE_COLUMNS) for line in ticket.lines.all()}
    return {"ticket": _columns(ticket, COLUMNS), "lines": lines}


def remember(
    *, ticket: Ticket, verb: str, says: str, before: Mapping[str, Any], since: int, by: User
) -> Undo:
    """Keep what is needed to take an act back; `since` is the newest event from before it."""
    at = now()
    told = Event.objects.filter(subject=ticket.ref, id__gt=since).values_list("id", flat=True)
    return Undo.objects.create(
        ticket=ticket,
        by=by,
        verb=verb,
        says=says,
        version=ticket.version,
        before=dict(before),
        events=list(told),
        at=at,
        until=at + WINDOW,
    )


def newest_undo(by: User) -> Undo | None:
    """What `by` may take back right now, the newest act alone; None when there is nothing."""
    last = Undo.objects.visible_to(by).select_related("ticket").only(*_OFFERED).first()
    return last if last is not None and last.undone_at is None and now() <= last.until else None


def forget_old() -> int:
    """Delete what nobody can take back for a day and longer; returns how many. The ledger keeps what was done."""
    gone, _ = Undo.objects.filter(until__lt=now() - timedelta(days=1)).delete()
    return gone


@transaction.atomic
def take_back(*, undo_id: int, by: User) -> Ticket:
    """Undo an act. NotFound for somebody else's, Conflict when the time is over or something happened since."""
    row = Undo.objects.visible_to(by).select_for_update(of=("self",)).filter(pk=undo_id).first()
    if row is None:
        raise NotFound("There is nothing of yours to take back.")
    ticket = Ticket.objects.select_for_update(of=("self",)).select_related("team").get(pk=row.ticket_id)
    _still_possible(row, ticket)
    apart = {"apart_from": format_ref("T", ticket.merged_into_id)} if ticket.merged_into_id else {}
    _restore(ticket, row)
    row.undone_at = now()
    row.save(update_fields=["undone_at"])
    payload = {"team": ticket.team.slug, "verb": row.verb, "says": row.says, "undoes": row.events, **apart}
    record(events.TICKET_UNDONE, subject=ticket.ref, payload=payload, by=by)
    return ticket


def _still_possible(row: Undo, ticket: Ticket) -> None:
    data = {"ticket": ticket.ref, "now": ticket.status, "version": ticket.version}
    if row.undone_at is not None:
        raise Conflict(f"{ticket.ref}: this is taken back already.", code="undone", data=data)
    if now() > row.until + GRACE:
        raise Conflict(
            f"{ticket.ref}: the {WINDOW.seconds} seconds to take this back are over. Decide it anew on its page.",
            code="undo-too-late",
            data=data,
        )
    newest = max(row.events, default=0)
    by_people = Event.objects.filter(subject=ticket.ref, id__gt=newest, actor__isnull=False)
    if ticket.version != row.version or by_people.exists():
        raise Conflict(
            f"{ticket.ref} has gone on since: it is {ticket.status} now. Nothing was taken back.",
            code="undo-overtaken",
            data=data,
        )


def _restore(ticket: Ticket, row: Undo) -> None:
    """Back to what `before` says, through the machine's own moves; a merge and a snooze lose what they made."""
    was = {name: _read(Ticket, name, value) for name, value in row.before["ticket"].items()}
    status = str(was.pop("status"))
    _move_back(ticket, status, was)
    for number, columns in row.before["lines"].items():
        values = {name: _read(Line, name, value) for name, value in columns.items() if name in _LINE_COLUMNS}
        for line in Line.objects.filter(pk=int(number), ticket=ticket):
            if values["verdict"] == LineVerdict.PENDING:
                reopen(line, returned=False, by=row.by)
            Line.objects.filter(pk=line.pk).update(
                **{name: value for name, value in values.items() if name not in _KEPT}
            )
    if row.verb == "snooze":
        end_snooze(ticket)
    if row.verb == "duplicate":
        forget_merge(ticket=ticket)


def _move_back(ticket: Ticket, status: str, was: dict[str, Any]) -> None:
    if ticket.status == status:
        Ticket.objects.filter(pk=ticket.pk, version=ticket.version).update(**was, version=ticket.version + 1)
        ticket.refresh_from_db()
        return
    resting = {**was, "waiting_since": None}
    move(ticket, TicketAction.RECONSIDER, machine=MACHINE, extra=resting)
    if status == TicketState.WAITING:
        extra = {name: was[name] for name in ("waiting_since", "question", "state_since")}
        move(ticket, TicketAction.ASK_BACK, machine=MACHINE, extra=extra)


def _columns(row: models.Model, names: tuple[str, ...]) -> dict[str, Any]:
    fields = {field.attname: field for field in row._meta.concrete_fields}
    return {name: None if getattr(row, name) is None else fields[name].value_to_string(row) for name in names}


def _read(model: type[models.Model], name: str, value: str | None) -> Any:
    field = next(each for each in model._meta.concrete_fields if each.attname == name)
    if value is None:
        return None
    if isinstance(field, models.ForeignKey):
        return field.target_field.to_python(value)
    return field.to_python(value)
