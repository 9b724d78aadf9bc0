"""A job has ended, or an order waits for nothing: what happens next? Doing it twice changes nothing.

An order waits for at most one run. Whoever comes second finds it closed, or a new one open, and leaves.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from provisioning.orders import building, giving_back, remedying
from provisioning.orders.models import Order, StepRun
from provisioning.orders.plan import (
    APPLY,
    BUILD,
    CONFIRM,
    DRAIN,
    JOIN,
    MEASURE,
    REVALIDATE,
    REVERT,
    VALIDATE,
    WIPE,
)
from provisioning.orders.running import Outcome, close_run, has_ended, open_run, outcome_of
from provisioning.orders.work import gives_back, is_remedy

After = Callable[[Order, StepRun, Outcome], None]

_AFTER: dict[str, After] = {
    BUILD.name: building.after_build,
    JOIN.name: building.after_join,
    VALIDATE.name: building.after_validate,
    CONFIRM.name: building.after_confirm,
    MEASURE.name: building.after_measure,
    DRAIN.name: giving_back.after_drain,
    WIPE.name: giving_back.after_wipe,
    REVALIDATE.name: giving_back.after_revalidate,
    APPLY.name: remedying.after_step,
    REVERT.name: remedying.after_step,
}


@transaction.atomic
def advance(*, order_id: int) -> bool:
    """Take the order one step on when nothing it waits for is running; False when there was nothing to do."""
    order = (
        Order.objects.select_for_update(of=("self",))
        .select_related("team", "cluster__team", "cluster__sku")
        .filter(pk=order_id)
        .first()
    )
    if order is None or order.is_final:
        return False
    run = open_run(order)
    if run is None:
        _begin_of(order)(order)
        return True
    if not has_ended(run):
        return False
    outcome = outcome_of(run)
    close_run(run, done=len(outcome.ok))
    after = giving_back.after_rejoin if _is_rejoin(order, run) else _AFTER[run.step]
    after(order, run, outcome)
    return True


def _begin_of(order: Order) -> Callable[[Order], None]:
    if is_remedy(order):
        return remedying.go_on
    return giving_back.go_on if gives_back(order) else building.go_on


def _is_rejoin(order: Order, run: StepRun) -> bool:
    return run.step == JOIN.name and gives_back(order)
