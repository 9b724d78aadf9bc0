"""Of which jobs must nothing be deleted yet? Those that run, and those whose order or whoever asked for it is not done."""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from provisioning.jobs.models import Job
from provisioning.jobs.states import ENDED
from provisioning.orders.states import FINAL

Asked = Callable[[Collection[str]], Collection[str]]

_asked: list[str] = []


def install(dotted_names: Collection[str]) -> None:
    """Take the wiring: functions that say which of some opaque references (`Order.requested_for`) are still open."""
    _asked[:] = dotted_names


def held(jobs: QuerySet[Job]) -> set[int]:
    """Ids of those among `jobs` that are held."""
    found = set(
        jobs.filter(
            ~Q(status__in=ENDED)
            | _of_an_open_whole()
            | (Q(order__isnull=False) & ~Q(order__status__in=FINAL))
        )
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    refs = set(
        jobs.exclude(order__requested_for="").values_list("order__requested_for", flat=True).distinct()
    )
    still_open = _still_open(refs - {None})
    if still_open:
        found |= set(jobs.filter(order__requested_for__in=still_open).values_list("pk", flat=True))
    return found


def _of_an_open_whole() -> Q:
    return Q(whole__isnull=False) & ~Q(whole__status__in=ENDED)


def _still_open(refs: set[str]) -> set[str]:
    found: set[str] = set()
    for name in _asked if refs else ():
        ask: Asked = import_string(name)
        found |= set(ask(refs))
    return found
