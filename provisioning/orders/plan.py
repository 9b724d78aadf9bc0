"""Which steps does an order take, on which nodes, and what is each playbook told?

Titles are what a requester reads; weights are shares of the usual time and make the progress bar mean something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provisioning.contracts import Account, OrderKind, StorageMount
from provisioning.orders.states import OrderAction, OrderState

PROBE_REPEATS = 3
CONFIRM_REPEATS = 5
PROBE_TIME_LIMIT = 180
COLLECTIVE_SIZES = {"min": "1G", "max": "8G"}
COLLECTIVE_REPEATS = 3
LEAST_NODES_TO_MEASURE_TOGETHER = 2


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: the state the order is in meanwhile, the action that leads there, and its playbook."""

    state: OrderState
    action: OrderAction
    title: str
    doing: str
    playbook: str
    weight: float

    @property
    def name(self) -> str:
        """The state's name."""
        return self.state.value


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A node as others of its cluster reach it."""

    name: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is put on the nodes of a cluster, and taken off again."""

    team: str
    cluster_name: str
    driver_version: str
    fabric_manager: bool
    accounts: tuple[Account, ...] = ()
    storage_mounts: tuple[StorageMount, ...] = ()
    remedy: str = ""
    settings: tuple[tuple[str, str], ...] = ()


BUILD = Step(
    state=OrderState.BUILDING,
    action=OrderAction.BUILD,
    title="Provision the nodes",
    doing="The nodes get drivers, container runtime, storage and your team's accounts",
    playbook="provision_node",
    weight=0.40,
)
JOIN = Step(
    state=OrderState.JOINING,
    action=OrderAction.JOIN,
    title="Join them into a cluster",
    doing="The nodes are joined into one cluster with its own scheduler partition",
    playbook="join_cluster",
    weight=0.10,
)
VALIDATE = Step(
    state=OrderState.VALIDATING,
    action=OrderAction.VALIDATE,
    title="Validate every node",
    doing="Every GPU is checked and measured",
    playbook="validate_node",
    weight=0.30,
)
CONFIRM = Step(
    state=OrderState.CONFIRMING,
    action=OrderAction.CONFIRM,
    title="Measure suspects again",
    doing="Nodes that looked slow are measured again beside a healthy one",
    playbook="validate_node",
    weight=0.08,
)
MEASURE = Step(
    state=OrderState.MEASURING,
    action=OrderAction.MEASURE,
    title="Measure the cluster as one",
    doing="The nodes are measured working together",
    playbook="validate_cluster",
    weight=0.12,
)
DRAIN = Step(
    state=OrderState.DRAINING,
    action=OrderAction.DRAIN,
    title="Drain the nodes",
    doing="Running work ends and no new work starts",
    playbook="drain_node",
    weight=0.2,
)
WIPE = Step(
    state=OrderState.WIPING,
    action=OrderAction.WIPE,
    title="Wipe the nodes",
    doing="Accounts, keys, data and mounts are taken off the nodes",
    playbook="wipe_node",
    weight=0.4,
)
REVALIDATE = Step(
    state=OrderState.REVALIDATING,
    action=OrderAction.REVALIDATE,
    title="Validate them for the pool",
    doing="Every node proves that it is fit before somebody else gets it",
    playbook="validate_node",
    weight=0.4,
)

APPLY = Step(
    state=OrderState.APPLYING,
    action=OrderAction.APPLY,
    title="Apply the workaround",
    doing="The workaround is put on the cluster's nodes",
    playbook="apply_workaround",
    weight=1.0,
)
REVERT = Step(
    state=OrderState.REVERTING,
    action=OrderAction.REVERT,
    title="Take the workaround back",
    doing="The workaround is taken off the cluster's nodes",
    playbook="revert_workaround",
    weight=1.0,
)

STEPS: Mapping[str, Step] = {
    step.name: step
    for step in (BUILD, JOIN, VALIDATE, CONFIRM, MEASURE, DRAIN, WIPE, REVALIDATE, APPLY, REVERT)
}


def steps_of(kind: OrderKind, *, nodes: int, shrinks: bool = False, drains: bool = True) -> tuple[Step, ...]:
    """The steps of an order in their order; `nodes` is the size of the cluster afterwards.

    CONFIRM is in the plan of every build, and skipped when nothing looked slow. `drains` is False where no work can
    be running: a node that was never handed over, or one from quarantine.
    """
    if kind in (OrderKind.APPLY, OrderKind.REVERT):
        return (APPLY,) if kind == OrderKind.APPLY else (REVERT,)
    if kind in (OrderKind.RELEASE, OrderKind.RECHECK):
        return (DRAIN, WIPE, REVALIDATE) if drains else (WIPE, REVALIDATE)
    if shrinks:
        return (DRAIN, WIPE, REVALIDATE, JOIN)
    together = (MEASURE,) if nodes >= LEAST_NODES_TO_MEASURE_TOGETHER else ()
    return (BUILD, JOIN, VALIDATE, CONFIRM, *together)


def variables(
    step: Step,
    setup: Setup,
    *,
    peers: Sequence[Peer] = (),
    checks: Sequence[str] = (),
    reason: str = "",
) -> dict[str, Any]:
    """What the step's playbook is told. `checks` empty means every check; `peers` is the whole cluster."""
    hosts = [{"name": peer.name, "address": peer.address} for peer in peers]
    told: dict[OrderState, dict[str, Any]] = {
        OrderState.BUILDING: {
            "team": setup.team,
            "team_accounts": _accounts(setup),
            "gpu_driver_version": setup.driver_version,
            "storage_mounts": _mounts(setup),
            "fabric_manager": setup.fabric_manager,
        },
        OrderState.JOINING: {
            "cluster_name": setup.cluster_name,
            "cluster_hosts": hosts,
            "partition": setup.cluster_name,
        },
        OrderState.VALIDATING: _probe((), PROBE_REPEATS),
        OrderState.CONFIRMING: _probe(checks, CONFIRM_REPEATS),
        OrderState.REVALIDATING: _probe((), PROBE_REPEATS),
        OrderState.MEASURING: {
            "cluster_hosts": hosts,
            "collective_sizes": dict(COLLECTIVE_SIZES),
            "collective_repeats": COLLECTIVE_REPEATS,
        },
        OrderState.DRAINING: {"reason": reason},
        OrderState.APPLYING: _remedy(setup),
        OrderState.REVERTING: _remedy(setup),
        OrderState.WIPING: {"team_accounts": _accounts(setup), "storage_mounts": _mounts(setup)},
    }
    return told[step.state]


def _probe(checks: Sequence[str], repeats: int) -> dict[str, Any]:
    return {
        "probe_checks": sorted(checks),
        "probe_repeats": repeats,
        "probe_time_limit": PROBE_TIME_LIMIT,
    }


def _remedy(setup: Setup) -> dict[str, Any]:
    settings = [{"name": name, "value": value} for name, value in setup.settings]
    return {"remedy_name": setup.remedy, "remedy_settings": settings}


def _accounts(setup: Setup) -> list[dict[str, Any]]:
    return [{"name": account.name, "keys": list(account.keys)} for account in setup.accounts]


def _mounts(setup: Setup) -> list[dict[str, Any]]:
    return [
        {"path": mount.path, "source": mount.source, "fstype": mount.fstype, "options": mount.options}
        for mount in setup.storage_mounts
    ]
