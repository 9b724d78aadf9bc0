"""Something is put on the nodes of a cluster for a while, or taken off: what follows its step?

The team works on these nodes, so none is taken away: where it fails on one of them, the order fails and says where.
"""

from __future__ import annotations

from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind
from provisioning.orders.models import Order, StepRun
from provisioning.orders.plan import APPLY, REVERT, variables
from provisioning.orders.running import Outcome, start_step
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.substituting import fail_order
from provisioning.orders.work import MOST_TRIES, nodes_of_cluster, setup_of


def go_on(order: Order) -> None:
    """Begin the step on every node that the cluster has now."""
    assert order.cluster is not None
    nodes = nodes_of_cluster(order.cluster)
    if not nodes:
        _without_nodes(order)
        return
    step = APPLY if order.kind == OrderKind.APPLY else REVERT
    start_step(order, step, nodes=nodes, variables=variables(step, setup_of(order)), by=None)


def _without_nodes(order: Order) -> None:
    if order.kind == OrderKind.REVERT:
        finish(order, nodes=0)
    else:
        fail_order(order, reason="The cluster has no nodes to put it on.", by=None)


def after_step(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Done where every node is; again where some could not be tried; failed where one said no."""
    if outcome.blamed:
        first = "; ".join(outcome.blamed[name].reason for name in sorted(outcome.blamed)[:3])
        fail_order(order, reason=f"On {len(outcome.blamed)} of {run.total} nodes: {first}", by=None)
    elif not outcome.untried:
        finish(order, nodes=run.total)
    elif order.runs.count() < MOST_TRIES:
        go_on(order)
    else:
        left = ", ".join(sorted(outcome.untried)[:5])
        fail_order(order, reason=f"Not tried in {MOST_TRIES} runs: {left}: {outcome.why}", by=None)


def finish(order: Order, *, nodes: int) -> None:
    """The order is over, and well."""
    move(order, OrderAction.FINISH, machine=ORDER, extra={"ended_at": now()})
    applied = order.kind == OrderKind.APPLY
    record(
        events.ORDER_DONE,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "kind": order.kind,
            "cluster": order.cluster.ref if order.cluster else "",
            "remedy": order.spec["remedy"],
            "nodes": nodes,
            "now": f"{'Applied on' if applied else 'Taken off'} {nodes} nodes.",
        },
        by=None,
    )
