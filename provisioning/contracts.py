"""What crosses the door of provisioning: frozen dataclasses and enums, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class OrderKind(StrEnum):
    """What provisioning can be asked to do."""

    BUILD = "build"
    RESIZE = "resize"
    RELEASE = "release"
    RECHECK = "recheck"
    APPLY = "apply"
    REVERT = "revert"


class VerdictValue(StrEnum):
    """What the findings say of a node or a cluster. `not_measured` is neither good nor bad."""

    FIT = "fit"
    DEGRADED = "degraded"
    UNFIT = "unfit"
    NOT_MEASURED = "not_measured"


class StepState(StrEnum):
    """Where one step of an order stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Account:
    """A person of the team who gets an account on the nodes: user name and public SSH keys."""

    name: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StorageMount:
    """A file system every node mounts; `options` as in fstab."""

    path: str
    source: str
    fstype: str
    options: str = "defaults"


@dataclass(frozen=True, kw_only=True)
class OrderSpec:
    """What is asked of provisioning.

    `nodes` is the number of nodes the cluster has afterwards (0 for a release; of no meaning for `apply` and `revert`).
    `cluster_ref` names the cluster and is empty for a build. `lease_end` is when a lease ends, None for an open one.
    `remedy` and its `settings` (name and value) are what an `apply` puts on every node and a `revert` takes off.
    """

    kind: OrderKind
    team: str
    sku: str
    nodes: int
    cluster_name: str = ""
    cluster_ref: str = ""
    lease_end: datetime | None = None
    driver_version: str = ""
    accounts: tuple[Account, ...] = ()
    storage_mounts: tuple[StorageMount, ...] = ()
    remedy: str = ""
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class RemedyView:
    """A setting that can be put on the nodes of a cluster and taken off again. `example` is one, as `name=value` a line."""

    name: str
    title: str
    says: str
    example: str


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """One node as other houses may show it. `speed` is node/baseline of its slowest metric, 1.0 = as healthy peers."""

    name: str
    address: str
    sku: str
    gpus: int
    rack: str
    status: str
    simulated: bool
    verdict: VerdictValue | None = None
    verdict_at: datetime | None = None
    speed: float | None = None
    report_url: str = ""


@dataclass(frozen=True, kw_only=True)
class SwapView:
    """A node that was replaced while its order ran, with the reason and the numbers that decided."""

    old: str
    new: str
    reason: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step of an order: `done` of `total` nodes."""

    name: str
    title: str
    state: StepState
    done: int = 0
    total: int = 0
    job_ref: str = ""
    job_url: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class OrderView:
    """An order as a requester may see it. `progress` is in [0, 1]; `now` says in plain words what happens."""

    ref: str
    kind: OrderKind
    requested_for: str
    team: str
    sku: str
    nodes: int
    status: str
    is_final: bool
    progress: float
    now: str
    cluster_ref: str
    placed_at: datetime
    ended_at: datetime | None = None
    reason: str = ""
    steps: tuple[StepView, ...] = ()
    node_views: tuple[NodeView, ...] = ()
    swaps: tuple[SwapView, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClusterView:
    """A cluster. `speed` is min over nodes of node/baseline; `gpu_hours_lost_per_day` is (1 - slowest/median)·GPUs·24."""

    ref: str
    name: str
    team: str
    sku: str
    status: str
    nodes: tuple[NodeView, ...]
    gpus: int
    lease_end: datetime | None
    created_at: datetime
    ready_at: datetime | None
    order_ref: str
    verdict: VerdictValue | None = None
    speed: float | None = None
    slowest_node: str = ""
    gpu_hours_lost_per_day: float | None = None
    busbw_gbps: float | None = None
    connect: tuple[str, ...] = ()
    simulated: bool = False
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class SkuView:
    """A kind of node: GPU model, GPUs per node, memory per GPU in MiB.

    `price_per_gpu_hour` is in `currency`; None when the deployment states no price.
    """

    slug: str
    name: str
    gpu_model: str
    gpus_per_node: int
    memory_mib: int
    driver_version: str = ""
    price_per_gpu_hour: Decimal | None = None
    currency: str = ""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Nodes of one SKU by what can be done with them now; `free` are healthy, unreserved and not spares kept back.

    A cluster stands at one site: `most_at_once` is the largest number of nodes that one order can get.
    """

    sku: str
    gpus_per_node: int
    total: int
    free: int
    most_at_once: int
    reserved: int
    in_use: int
    out: int
    next_free_at: datetime | None = None
    spares: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FoundMachine:
    """A cluster or a node that a search found; a node has no ref."""

    kind: str
    name: str
    ref: str = ""
    says: str = ""
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class GpuUse:
    """GPUs of one SKU that a team's cluster held from `start` to `end`, None while it still holds them."""

    team: str
    sku: str
    gpus: int
    start: datetime
    end: datetime | None = None
