"""What do people do with a workaround that holds? Renew, end, say that it is done, what it cost, and that it is proper."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db import transaction

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.tickets.deciders import only_triagers
from requests_app.workarounds import carrying_out, said
from requests_app.workarounds.granting import Terms, grant_workaround
from requests_app.workarounds.kinds import Kind
from requests_app.workarounds.models import InterestEntry, PillarCap, Workaround
from requests_app.workarounds.replacing import DESK
from requests_app.workarounds.states import WORKAROUND, WorkaroundAction, WorkaroundState
from requests_app.workarounds.telling import tell

__all__ = [
    "Terms",
    "ask_renewal",
    "call_proper",
    "end_workaround",
    "grant_workaround",
    "mark_applied",
    "mark_reverted",
    "note_interest",
    "refuse_renewal",
    "set_cap",
    "try_again",
]
MOST_CAP = 1000


@transaction.atomic
def ask_renewal(*, workaround: Workaround, version: int, days: int, reason: str, by: User) -> Workaround:
    """Ask for one more term; whoever speaks for the team or owns it may. A triager approves it anew."""
    if not (by.is_infra or by.belongs_to(workaround.ticket.team)):
        raise NotAllowed("Only its team and the infra team ask for a renewal.")
    asked = {
        "renewal_days": said.days_of("days", days),
        "renewal_reason": said.text_of("reason", reason),
        "renewal_asked_by": by,
    }
    row = fresh(workaround, version)
    move(row, WorkaroundAction.ASK_RENEWAL, machine=WORKAROUND, extra=asked)
    tell(events.WORKAROUND_RENEWAL_ASKED, row, days=days, reason=row.renewal_reason, by=by)
    return row


@transaction.atomic
def refuse_renewal(*, workaround: Workaround, version: int, reason: str, by: User) -> Workaround:
    """Say no to one more term: it ends when it was to end."""
    only_triagers(by, DESK)
    reason = said.text_of("reason", reason)
    row = fresh(workaround, version)
    cleared = {"renewal_days": None, "renewal_reason": "", "renewal_asked_by": None}
    move(row, WorkaroundAction.REFUSE_RENEWAL, machine=WORKAROUND, extra=cleared)
    tell(events.WORKAROUND_RENEWAL_REFUSED, row, reason=reason, by=by)
    return row


@transaction.atomic
def end_workaround(*, workaround: Workaround, version: int, reason: str = "", by: User) -> Workaround:
    """Take it back before its time: its owner's or a triager's. One that was not applied just ends."""
    _owner_or_triager(workaround, by)
    reason = said.text_of("reason", reason, needed=False)
    row = fresh(workaround, version)
    if row.status in (WorkaroundState.PLANNED, WorkaroundState.APPLYING):
        if row.order_ref:
            raise Conflict(f"{row.order_ref} is at work on it; wait for its end, or cancel it.")
        carrying_out.finish(row, by=by, note=reason, why=carrying_out.NEVER)
        return row
    carrying_out.take_back(row, why=carrying_out.ENDED, by=by)
    return row


@transaction.atomic
def try_again(*, workaround: Workaround, version: int, by: User) -> Workaround:
    """Take back what is stuck or half applied."""
    _owner_or_triager(workaround, by)
    row = fresh(workaround, version)
    carrying_out.take_back(row, why=row.ended_why or carrying_out.ENDED, by=by)
    return row


@transaction.atomic
def mark_applied(*, workaround: Workaround, version: int, note: str = "", by: User) -> Workaround:
    """Say that the step by hand is done: from now on it holds."""
    _owner_or_triager(workaround, by)
    note = said.text_of("note", note, needed=False)
    row = fresh(workaround, version)
    _by_hand(row)
    carrying_out.hold(row, by=by)
    return row


@transaction.atomic
def mark_reverted(*, workaround: Workaround, version: int, note: str, by: User) -> Workaround:
    """Say that it is gone, and how: after a step by hand, or where the machinery could not take it back."""
    _owner_or_triager(workaround, by)
    note = said.text_of("note", note)
    row = fresh(workaround, version)
    if row.status == WorkaroundState.REVERTING:
        _by_hand(row)
    elif not row.in_trouble:
        raise Conflict(f"{row.ref} is {row.status}; end it first.", data={"now": row.status})
    carrying_out.finish(row, by=by, note=note)
    return row


@transaction.atomic
def call_proper(*, workaround: Workaround, version: int, because: str, by: User) -> Workaround:
    """Record why the workaround is the proper solution: nothing replaces it, and its ticket may be closed."""
    only_triagers(by, DESK)
    because = said.text_of("because", because)
    row = fresh(workaround, version)
    claimed = Workaround.objects.filter(pk=row.pk, version=version)
    if not claimed.update(proper_because=because, version=version + 1):
        raise stale(row)
    row.proper_because, row.version = because, version + 1
    tell(events.WORKAROUND_PROPER, row, because=because, by=by)
    return row


@transaction.atomic
def note_interest(
    *, workaround: Workaround, day: date, hours: Decimal | float | str, note: str = "", by: User
) -> InterestEntry:
    """What it did cost in the week of `day`, in hours; a second entry of a week corrects the first."""
    if not by.is_infra:
        raise NotAllowed("Only the infra team notes what a workaround costs it.")
    week, counted = said.monday_of(day), said.hours_of("hours", hours)
    note = said.line_of("note", note, needed=False)
    earliest = said.monday_of(workaround.starts_at.date())
    if not earliest <= week <= said.monday_of(now().date()):
        raise Invalid({"day": [f"A day from {earliest:%d %B %Y} to this week."]})
    entry, _ = InterestEntry.objects.update_or_create(
        workaround=workaround, week=week, defaults={"hours": counted, "note": note, "by": by, "at": now()}
    )
    tell(events.WORKAROUND_INTEREST, workaround, week=week.isoformat(), hours=float(counted), by=by)
    return entry


@transaction.atomic
def set_cap(*, pillar: str, most: int, by: User) -> PillarCap:
    """How many workarounds of a pillar may be open; what is open already stays."""
    if not by.can(Action.CONFIGURE):
        raise NotAllowed("Only admins set how many workarounds may be open.")
    if pillar not in PILLARS:
        raise Invalid({"pillar": [f"Choose one of: {', '.join(PILLARS)}."]})
    if not 0 <= most <= MOST_CAP:
        raise Invalid({"most": [f"From 0 to {MOST_CAP}."]})
    PillarCap.objects.get_or_create(pillar=pillar)
    cap = PillarCap.objects.select_for_update().get(pillar=pillar)
    was, cap.most = cap.most, most
    cap.save(update_fields=["most"])
    payload = {"pillar": pillar, "was": was, "most": most}
    record(events.WORKAROUND_CAP_SET, subject=f"pillar {pillar}", payload=payload, by=by)
    return cap


def fresh(workaround: Workaround, version: int) -> Workaround:
    """A locked copy that still has the version the person saw; LostRace otherwise."""
    rows = Workaround.objects.select_for_update(of=("self",)).for_pages()
    row = rows.get(pk=workaround.pk)
    if row.version != version:
        raise stale(row)
    return row


def stale(row: Workaround) -> LostRace:
    """Somebody was quicker."""
    return LostRace(
        f"{row.ref} has changed since you opened it: it is {row.status} now. Nothing of yours was done; look again.",
        data={"workaround": row.ref, "now": row.status, "version": row.version},
    )


def _owner_or_triager(workaround: Workaround, by: User) -> None:
    owns = workaround.owner_id == by.pk and by.is_infra
    if not (owns or by.is_triager):
        raise NotAllowed("Only its owner and triagers do that.")


def _by_hand(row: Workaround) -> None:
    if row.kind != Kind.MANUAL:
        raise Conflict(
            f"{row.ref} is carried out by Quartermaster; nobody marks it.", data={"kind": row.kind}
        )
