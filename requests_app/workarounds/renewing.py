"""How does a workaround get one more term? By a new approval, counted from its end, once per key."""

from __future__ import annotations

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.kernel.moves import move
from requests_app import events
from requests_app.tickets.deciders import only_triagers
from requests_app.workarounds import carrying_out, said
from requests_app.workarounds.ladder import renewed_until, said_at_the_start
from requests_app.workarounds.models import Renewal, Workaround
from requests_app.workarounds.replacing import DESK
from requests_app.workarounds.services import fresh
from requests_app.workarounds.states import WORKAROUND, WorkaroundAction
from requests_app.workarounds.telling import tell

LONGEST_KEY = 80


@transaction.atomic
def renew_workaround(
    *, workaround: Workaround, version: int, days: int, key: str, reason: str = "", by: User
) -> Workaround:
    """Approve one more term of `days`, from its end or from now, whichever is later.

    Its owner may approve only with a reason, everybody else also without. The same key gives the same renewal again;
    with other days it is refused with code `idempotency-key-reused`.
    """
    only_triagers(by, DESK)
    days = said.days_of("days", days)
    owns = workaround.owner_id == by.pk
    reason = said.text_of("reason", reason, needed=owns)
    if not 1 <= len(key) <= LONGEST_KEY:
        raise Invalid({"key": ["A key of 1 to 80 characters makes a renewal happen once."]})
    row = Workaround.objects.select_for_update(of=("self",)).for_pages().get(pk=workaround.pk)
    earlier = row.renewal_rows.filter(key=key).first()
    if earlier is not None:
        if earlier.days != days:
            raise Invalid({"key": ["This key has renewed it for other days."]}, "This key was used already.")
        return row
    row = fresh(row, version)
    at, was = now(), row.expires_at
    until = renewed_until(ends_at=was, at=at, days=days)
    extra = {
        "expires_at": until,
        "renewals": row.renewals + 1,
        "approved_by": by,
        "warned_days": said_at_the_start(ends_at=until, at=at),
        "renewal_days": None,
        "renewal_reason": "",
        "renewal_asked_by": None,
    }
    move(row, WorkaroundAction.RENEW, machine=WORKAROUND, extra=extra)
    Renewal.objects.create(
        workaround=row, key=key, days=days, was_until=was, until=until, reason=reason, approved_by=by
    )
    carrying_out.prolong(row, by=by)
    tell(events.WORKAROUND_RENEWED, row, days=days, was=was.isoformat(), reason=reason, by=by)
    return row
