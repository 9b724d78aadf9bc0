"""Which constants rank now, and how do they change? By a new version with a reason; an old one is never edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.errors import Invalid, LostRace, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.priority import policy_rules
from requests_app.priority.models import PriorityPolicy, Rerank
from requests_app.tickets.models import Ticket

FIRST_REASON = "The constants that the portal came with."


def active_policy() -> PriorityPolicy:
    """The version that ranks now; before anybody made one, the portal's own, which may not be stored yet."""
    found = PriorityPolicy.objects.filter(active=True).first()
    return found or PriorityPolicy(number=1, active=True, reason=FIRST_REASON)


def stored_policy() -> PriorityPolicy:
    """The same, as a row."""
    found = PriorityPolicy.objects.filter(active=True).first()
    if found is not None:
        return found
    made, _ = PriorityPolicy.objects.get_or_create(
        number=1, defaults={"active": True, "reason": FIRST_REASON}
    )
    return made


def make_policy(*, seen: int, constants: Mapping[str, Any], reason: str, by: User) -> PriorityPolicy:
    """Make and activate the version after `seen`, and set off the re-rank of all that waits.

    Raises Invalid by constant, LostRace when somebody made a version meanwhile.
    """
    if not by.can(Action.CONFIGURE):
        raise NotAllowed("Only admins change how everybody is ranked.")
    complaints = policy_rules.complaints({**constants, "reason": reason})
    if complaints:
        raise Invalid(complaints)
    try:
        with transaction.atomic():
            return _make(seen, {c.name: float(constants[c.name]) for c in policy_rules.CONSTANTS}, reason, by)
    except IntegrityError as problem:
        raise _overtaken(seen) from problem


def _make(seen: int, constants: dict[str, float], reason: str, by: User) -> PriorityPolicy:
    before = stored_policy()
    if before.number != seen:
        raise _overtaken(seen)
    if not PriorityPolicy.objects.filter(pk=before.pk, active=True).update(active=False):
        raise _overtaken(seen)
    made = PriorityPolicy.objects.create(
        number=before.number + 1, active=True, reason=reason.strip(), made_by=by, **constants
    )
    run = start_rerank(made, reason=f"policy {made.number}")
    payload = {
        "policy": made.number,
        "reason": made.reason,
        "rerank": run.pk,
        "changed": {
            name: [getattr(before, name), value]
            for name, value in constants.items()
            if getattr(before, name) != value
        },
    }
    record(events.POLICY_MADE, subject=f"priority/{made.number}", payload=payload, by=by)
    return made


def start_rerank(policy: PriorityPolicy, *, reason: str) -> Rerank:
    """Note that everything is to be ranked anew; the sweep does it in batches. An older one is over: this one does its work."""
    Rerank.objects.filter(ended_at=None).update(ended_at=policy.made_at)
    waiting = Ticket.objects.filter(rank_key__isnull=False).still_open()
    last = waiting.order_by("-pk").values_list("pk", flat=True).first() or 0
    return Rerank.objects.create(policy=policy, reason=reason, total=waiting.count(), upper_id=last)


def _overtaken(seen: int) -> LostRace:
    return LostRace(
        "Somebody made a version of the policy meanwhile. Nothing of yours was done; look again.",
        data={"seen": seen, "now": active_policy().number},
    )
