"""How does a workaround take effect, and how is it taken back? One pair per kind, by the mechanism the kind has anyway.

What can't be begun fails with its reason. What can't be taken back is stuck, loudly: it is never called ended.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotFound, PortalError
from portal.kernel.moves import move
from requests_app import events
from requests_app.quotas.boosts import end_boosts_of, extend_boost
from requests_app.quotas.services import grant_quota
from requests_app.workarounds import borrowing, remedies
from requests_app.workarounds.kinds import Kind
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.sources import source_of
from requests_app.workarounds.states import WORKAROUND, WorkaroundAction
from requests_app.workarounds.telling import tell

RETRY_AFTER = timedelta(minutes=10)
EXPIRED, REPLACED, ENDED, NEVER = "expired", "replaced", "ended", "never"
Doing = Callable[[Workaround, User | None], bool]
"""Does its kind's part; True when that is all, False when an order or a person goes on with it."""


def begin(workaround: Workaround, *, by: User | None) -> None:
    """Let it take effect. Raises what its kind raises; the caller's transaction undoes everything then."""
    _move(workaround, WorkaroundAction.APPLY)
    if _APPLY[Kind(workaround.kind)](workaround, by):
        hold(workaround, by=by)


def hold(workaround: Workaround, *, by: User | None) -> None:
    """It holds: the team can go on."""
    _move(workaround, WorkaroundAction.HOLD, active_at=now())
    tell(events.WORKAROUND_STARTED, workaround, by=by)


def fail(workaround: Workaround, *, why: str, by: User | None) -> None:
    """It could not be applied, or only in part."""
    _move(workaround, WorkaroundAction.FAIL, trouble=why)
    end_boosts_of(source=source_of(workaround))
    tell(events.WORKAROUND_FAILED, workaround, reason=why, by=by)


def refuse(workaround: Workaround, *, why: str) -> None:
    """It was planned for now and can't begin."""
    _move(workaround, WorkaroundAction.APPLY)
    fail(workaround, why=why, by=None)


def take_back(workaround: Workaround, *, why: str, by: User | None, again: bool = False) -> None:
    """Begin to take it back; stuck with the reason when that can't begin. `again` says that it was tried before."""
    _move(workaround, WorkaroundAction.REVERT, ended_why=why, retry_at=None)
    if not again:
        steps = workaround.params.get("steps", "") if workaround.kind == Kind.MANUAL else ""
        tell(events.WORKAROUND_REVERTING, workaround, why=why, task=steps, by=by)
    try:
        with transaction.atomic():
            done = _TAKE_BACK[Kind(workaround.kind)](workaround, by)
    except PortalError as problem:
        stuck(workaround, why=problem.message, passes=isinstance(problem, Conflict))
        return
    if done:
        finish(workaround, by=by)


def stuck(workaround: Workaround, *, why: str, passes: bool = False) -> None:
    """It could not be taken back. What passes by itself is tried again; either way it is told once per reason."""
    news = workaround.trouble != why
    retry_at = now() + RETRY_AFTER if passes else None
    _move(workaround, WorkaroundAction.FAIL, trouble=why, retry_at=retry_at)
    if news:
        tell(events.WORKAROUND_STUCK, workaround, reason=why, tried_again=passes, by=None)


def finish(workaround: Workaround, *, by: User | None, note: str = "", why: str = "") -> None:
    """It is gone."""
    how = why or workaround.ended_why or ENDED
    _move(workaround, WorkaroundAction.END, ended_at=now(), ended_why=how, trouble="", retry_at=None)
    end_boosts_of(source=source_of(workaround))
    tell(events.WORKAROUND_ENDED, workaround, why=how, note=note, by=by)


def prolong(workaround: Workaround, *, by: User | None) -> None:
    """Let what its kind set up last as long as the workaround does now."""
    if workaround.kind in (Kind.QUOTA, Kind.NODES):
        gpus = workaround.params["gpus"] if workaround.kind == Kind.QUOTA else borrowing.gpus_of(workaround)
        if not extend_boost(source=source_of(workaround), until=workaround.expires_at):
            _lend(workaround, gpus, by)
    if workaround.kind == Kind.NODES:
        borrowing.prolong(workaround, by=by)


def _move(workaround: Workaround, action: WorkaroundAction, **extra: Any) -> None:
    move(workaround, action, machine=WORKAROUND, extra=extra)


def _lend(workaround: Workaround, gpus: int, by: User | None) -> None:
    source = source_of(workaround)
    grant_quota(
        team=workaround.ticket.team,
        sku=workaround.params["sku"],
        gpus=gpus,
        source=f"{source}/{workaround.renewals}" if workaround.renewals else source,
        reason=f"{workaround.ref} {workaround.summary}",
        until=workaround.expires_at,
        by=by,
    )


def _apply_quota(workaround: Workaround, by: User | None) -> bool:
    borrowing.known_sku(workaround.params["sku"])
    _lend(workaround, workaround.params["gpus"], by)
    return True


def _apply_nodes(workaround: Workaround, by: User | None) -> bool:
    """Borrowed GPUs are lent as quota too, so that the books agree with the floor."""
    _lend(workaround, borrowing.gpus_of(workaround), by)
    borrowing.borrow(workaround, by=by)
    return False


def _apply_remedy(workaround: Workaround, by: User | None) -> bool:
    try:
        remedies.apply(workaround, by=by)
    except NotFound as problem:
        raise Invalid({"cluster": [problem.message]}) from problem
    return False


def _ask_owner(workaround: Workaround, by: User | None) -> bool:
    """A person does it and says so."""
    return False


def _return_quota(workaround: Workaround, by: User | None) -> bool:
    end_boosts_of(source=source_of(workaround))
    return True


_APPLY: dict[Kind, Doing] = {
    Kind.QUOTA: _apply_quota,
    Kind.NODES: _apply_nodes,
    Kind.PLAYBOOK: _apply_remedy,
    Kind.MANUAL: _ask_owner,
}
_TAKE_BACK: dict[Kind, Doing] = {
    Kind.QUOTA: _return_quota,
    Kind.NODES: lambda workaround, by: borrowing.give_back(workaround, by=by),
    Kind.PLAYBOOK: lambda workaround, by: remedies.revert(workaround, by=by),
    Kind.MANUAL: _ask_owner,
}
assert set(_APPLY) == set(_TAKE_BACK) == set(Kind), "every kind begins and ends"
