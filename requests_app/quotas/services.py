"""How does a quota change? By one conditional UPDATE and one ledger entry with a unique key, in one transaction."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.quotas.arithmetic import Room
from requests_app.quotas.models import Boost, Hold, LedgerEntry, Quota
from requests_app.quotas.states import HOLD, HoldAction, HoldState


def quota_of(team: Team, sku: str) -> Quota:
    """The team's quota of a SKU; one that was never set is a quota of none."""
    return Quota.objects.get_or_create(team=team, sku=sku, defaults={"limit": 0})[0]


def room_for(team: Team, sku: str) -> Room:
    """What the team has, holds and has left, in GPUs, without making a row."""
    quota = Quota.objects.filter(team=team, sku=sku).first()
    return quota.room if quota else Room(limit=0, used=0, held=0)


@transaction.atomic
def hold_quota(*, team: Team, sku: str, gpus: int, source: str, step: int = 1, by: User | None) -> Hold:
    """Set `gpus` aside for `source`, once. Refused with the numbers and the nearest yes when they don't fit."""
    quota = quota_of(team, sku)
    hold, fresh = Hold.objects.get_or_create(
        source=source, defaults={"quota": quota, "gpus": gpus, "status": HOLD.initial}
    )
    if not fresh:
        return hold
    fits = Q(limit__isnull=True) | Q(limit__gte=F("used") + F("held") + gpus)
    if not Quota.objects.filter(fits, pk=quota.pk).update(held=F("held") + gpus):
        raise _too_little(team, sku, gpus, step)
    _enter(quota, "hold", source, held=gpus, by=by)
    return hold


def _too_little(team: Team, sku: str, gpus: int, step: int) -> Refused:
    room = room_for(team, sku)
    nearest = room.nearest_yes(gpus, step=step)
    instead = f"{nearest} GPUs would fit now" if nearest else "a quota raise comes first"
    return Refused(
        f"{team.name} has {room.left} of {room.limit} GPUs of {sku} left and asks for {gpus}: {instead}.",
        code="quota",
        data={
            "sku": sku,
            "asked": gpus,
            "limit": room.limit,
            "used": room.used,
            "held": room.held,
            "nearest_yes": nearest,
        },
    )


def bind_order(*, hold: Hold, order_ref: str) -> None:
    """Say which order will use a hold."""
    Hold.objects.filter(pk=hold.pk).update(order_ref=order_ref)


@transaction.atomic
def free_hold(*, hold_id: int, by: User | None) -> int:
    """Give back one hold that no cluster uses; returns the GPUs freed, 0 when it is free or in use."""
    holds = Hold.objects.select_for_update(of=("self",)).select_related("quota__team")
    return _free_all(list(holds.filter(pk=hold_id, status=HoldState.HELD)), by)


@transaction.atomic
def use_order(*, order_ref: str, cluster_ref: str, by: User | None) -> None:
    """What was held for an order is used now, by its cluster. Does nothing the second time."""
    for hold in _locked(order_ref=order_ref, status=HoldState.HELD):
        move(hold, HoldAction.USE, machine=HOLD, extra={"cluster_ref": cluster_ref})
        Quota.objects.filter(pk=hold.quota_id).update(held=F("held") - hold.gpus, used=F("used") + hold.gpus)
        _enter(hold.quota, "use", hold.source, held=-hold.gpus, used=hold.gpus, by=by)


@transaction.atomic
def free_order(*, order_ref: str, by: User | None) -> int:
    """Give back what was held for an order that came to nothing; returns the GPUs freed."""
    return _free_all(_locked(order_ref=order_ref, status=HoldState.HELD), by)


@transaction.atomic
def free_cluster(*, cluster_ref: str, by: User | None) -> int:
    """Give back all that a cluster used; returns the GPUs freed."""
    return _free_all(_locked(cluster_ref=cluster_ref, status=HoldState.USED), by)


@transaction.atomic
def shrink_cluster(*, cluster_ref: str, gpus: int, by: User | None) -> int:
    """A cluster has `gpus` now: give back what it used beyond that, latest hold first; returns the GPUs freed."""
    holds = _locked(cluster_ref=cluster_ref, status=HoldState.USED)
    surplus = sum(hold.gpus for hold in holds) - gpus
    freed = 0
    for hold in reversed(holds):
        part = min(hold.gpus, surplus - freed)
        if part <= 0:
            break
        if part == hold.gpus:
            _free(hold, by)
        else:
            Hold.objects.filter(pk=hold.pk).update(gpus=F("gpus") - part)
            _give_back(hold, part, used=True)
            _enter(hold.quota, f"shrink-{gpus}", hold.source, used=-part, by=by)
        freed += part
    return freed


def _locked(**wanted: str) -> list[Hold]:
    rows = Hold.objects.select_for_update(of=("self",)).select_related("quota__team")
    return list(rows.filter(**wanted).order_by("id"))


def _free_all(holds: list[Hold], by: User | None) -> int:
    for hold in holds:
        _free(hold, by)
    return sum(hold.gpus for hold in holds)


def _free(hold: Hold, by: User | None) -> None:
    was_used = hold.status == HoldState.USED
    move(hold, HoldAction.FREE, machine=HOLD)
    _give_back(hold, hold.gpus, used=was_used)
    held, used = (0, -hold.gpus) if was_used else (-hold.gpus, 0)
    _enter(hold.quota, "free", hold.source, held=held, used=used, by=by)


def _give_back(hold: Hold, gpus: int, *, used: bool) -> None:
    """Lower a counter, and the overdraft with it."""
    counter = "used" if used else "held"
    Quota.objects.filter(pk=hold.quota_id).update(
        **{counter: F(counter) - gpus}, overdrawn=Greatest(Value(0), F("overdrawn") - gpus)
    )


@transaction.atomic
def grant_quota(
    *,
    team: Team,
    sku: str,
    gpus: int,
    source: str,
    reason: str = "",
    until: datetime | None = None,
    by: User | None,
) -> Quota:
    """Raise the limit by `gpus`, for good or `until` a date. Once per source."""
    quota = Quota.objects.select_for_update().get(pk=quota_of(team, sku).pk)
    kind = "grant" if until is None else "boost"
    if LedgerEntry.objects.filter(quota=quota, source=source, kind=kind).exists():
        return quota
    Quota.objects.filter(pk=quota.pk, limit__isnull=False).update(limit=F("limit") + gpus)
    if until is not None:
        Boost.objects.create(quota=quota, source=source, gpus=gpus, until=until)
    _enter(quota, kind, source, limit=gpus, reason=reason, by=by)
    payload = {"team": team.slug, "sku": sku, "gpus": gpus, "until": until.isoformat() if until else None}
    record(events.QUOTA_GRANTED, subject=source.partition("/")[0], payload=payload, by=by)
    quota.refresh_from_db()
    return quota


@transaction.atomic
def set_limit(*, team: Team, sku: str, limit: int | None, reason: str, by: User | None) -> Quota:
    """Set a team's limit outright (None = unlimited); what is out already stays out as an overdraft."""
    quota = Quota.objects.select_for_update().get(pk=quota_of(team, sku).pk)
    change = (limit or 0) - (quota.limit or 0)
    entries = LedgerEntry.objects.filter(quota=quota, kind="limit").count()
    _lower_or_raise(quota, limit)
    _enter(quota, "limit", f"limit/{entries + 1}", limit=change, reason=reason, by=by)
    quota.refresh_from_db()
    return quota


def end_due_boosts() -> int:
    """Take back boosts whose time is over; returns how many ended."""
    due = list(Boost.objects.filter(ended_at__isnull=True, until__lte=now()).values_list("pk", flat=True))
    return sum(end_boost(pk) for pk in due)


@transaction.atomic
def end_boost(pk: int) -> bool:
    """Take a boost back now; False when it has ended already."""
    boost = Boost.objects.select_for_update().filter(pk=pk, ended_at__isnull=True).first()
    if boost is None:
        return False
    quota = Quota.objects.select_for_update().get(pk=boost.quota_id)
    Boost.objects.filter(pk=pk).update(ended_at=now())
    if quota.limit is not None:
        _lower_or_raise(quota, max(0, quota.limit - boost.gpus))
    _enter(quota, "boost-end", boost.source, limit=-boost.gpus, by=None)
    payload = {"team": quota.team.slug, "sku": quota.sku, "gpus": boost.gpus}
    record(events.QUOTA_BOOST_ENDED, subject=boost.source.partition("/")[0], payload=payload, by=None)
    return True


def _lower_or_raise(quota: Quota, limit: int | None) -> None:
    """Write a limit and, in the same statement, the overdraft that keeps the CHECK true."""
    out = Value(0) if limit is None else Greatest(Value(0), F("used") + F("held") - limit)
    Quota.objects.filter(pk=quota.pk).update(limit=limit, overdrawn=out)


def _enter(
    quota: Quota,
    kind: str,
    source: str,
    *,
    limit: int = 0,
    used: int = 0,
    held: int = 0,
    reason: str = "",
    by: User | None,
) -> None:
    LedgerEntry.objects.create(
        quota=quota,
        kind=kind,
        source=source,
        limit_change=limit,
        used_change=used,
        held_change=held,
        reason=reason[:200],
        by=by,
    )
