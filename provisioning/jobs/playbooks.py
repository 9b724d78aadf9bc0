"""Which playbooks are there, what may they be told, and how long may they take? The registry; it runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from datetime import timedelta
from typing import Any

from portal.kernel.errors import Invalid, Refused
from provisioning.jobs import fields as f
from provisioning.jobs.failure_policy import ALL_OR_NOTHING, PER_NODE, FailurePolicy


def told(read: f.Reader[Any], default: Any = MISSING) -> Any:
    """A variable of a playbook: how its value is read, and its default where it may be left away."""
    metadata = {"read": read}
    if default is MISSING:
        return field(metadata=metadata)
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


ACCOUNT = f.record(
    {
        "name": f.account_name,
        "keys": f.listed(f.public_key, most=50),
        "uid": f.whole(least=1000, most=4_000_000_000),
    },
    optional={"keys": [], "uid": None},
)
MOUNT = f.record(
    {"path": f.path, "source": f.mount_source, "fstype": f.fstype, "options": f.mount_options},
    optional={"fstype": "nfs", "options": "defaults"},
)
SETTING = f.record({"name": f.setting_name, "value": f.setting_value}, optional={})
PEER = f.record({"name": f.host_name, "address": f.address}, optional={})
SIZE = f.message_size
SIZES = f.record({"min": SIZE, "max": SIZE}, optional={})


@dataclass(frozen=True, kw_only=True)
class ProvisionNode:
    """Make a bare node ready for one team."""

    team: str = told(f.slug)
    team_accounts: list[dict[str, Any]] = told(f.listed(ACCOUNT, most=500), [])
    gpu_driver_version: str = told(f.driver_version, "")
    storage_mounts: list[dict[str, Any]] = told(f.listed(MOUNT, most=50), [])
    fabric_manager: bool = told(f.flag, default=False)


@dataclass(frozen=True, kw_only=True)
class JoinCluster:
    """Make provisioned nodes one cluster."""

    cluster_name: str = told(f.slug)
    cluster_hosts: list[dict[str, Any]] = told(f.listed(PEER, most=5000))
    partition: str = told(f.slug)


@dataclass(frozen=True, kw_only=True)
class ValidateNode:
    """Measure every node by itself; `probe_checks` empty means all, `probe_time_limit` is in seconds per tool."""

    probe_checks: list[str] = told(f.listed(f.evidence_id, most=50), [])
    probe_repeats: int = told(f.whole(least=1, most=50), 3)
    probe_time_limit: int = told(f.whole(least=5, most=7200), 120)


@dataclass(frozen=True, kw_only=True)
class ValidateCluster:
    """Measure the nodes together, from the first of them."""

    cluster_hosts: list[dict[str, Any]] = told(f.listed(PEER, most=5000))
    collective_sizes: dict[str, str] = told(SIZES, None)
    collective_repeats: int = told(f.whole(least=1, most=50), 3)


@dataclass(frozen=True, kw_only=True)
class DrainNode:
    """Let running jobs end and give the nodes no new ones."""

    reason: str = told(f.text(longest=200, empty=False))


@dataclass(frozen=True, kw_only=True)
class WipeNode:
    """Leave nothing of the team on the nodes."""

    team_accounts: list[dict[str, Any]] = told(f.listed(ACCOUNT, most=500), [])
    storage_mounts: list[dict[str, Any]] = told(f.listed(MOUNT, most=50), [])


@dataclass(frozen=True, kw_only=True)
class ApplyWorkaround:
    """Put a remedy on the nodes, with exactly these settings."""

    remedy_name: str = told(f.slug)
    remedy_settings: list[dict[str, Any]] = told(f.listed(SETTING, most=20))


@dataclass(frozen=True, kw_only=True)
class RevertWorkaround:
    """Take a remedy off the nodes; how it was set is only said."""

    remedy_name: str = told(f.slug)
    remedy_settings: list[dict[str, Any]] = told(f.listed(SETTING, most=20))


@dataclass(frozen=True, kw_only=True)
class Playbook:
    """One playbook: its file under ansible/playbooks, the type of its variables, and its limits.

    `timeout` is for the whole job, `idle` for the time without any event. An `idempotent` one is repeated by itself
    after the portal's own accidents. `policy` makes a state of its nodes' endings. `shard_nodes` is how many nodes one worker
    gets at once; None: all of them have to be in one run. `by_hand`: operators may run it without an order. `harmless`: with
    which variables it disturbs nobody who uses the nodes, and `harmless_when` says so.
    """

    name: str
    title: str
    file: str
    variables: type[Any]
    timeout: timedelta
    idle: timedelta
    idempotent: bool = True
    max_attempts: int = 3
    queue: str = "jobs"
    policy: FailurePolicy = PER_NODE
    shard_nodes: int | None = 50
    by_hand: bool = False
    harmless: Callable[[Mapping[str, Any]], bool] | None = None
    harmless_when: str = ""

    def is_harmless(self, variables: Mapping[str, Any]) -> bool:
        """True when it disturbs nobody who uses the nodes."""
        return self.harmless is not None and self.harmless(variables)


LOOKS = frozenset(
    {"nvidia-smi-xml", "nvidia-smi-nvlink", "lspci", "kernel-log", "ibstat", "chronyc-tracking"}
    | {"mounts", "kernel", "fabric-manager", "ib-sysfs"}
)
"""Probes that read what is there and load nothing."""


def only_looks(variables: Mapping[str, Any]) -> bool:
    """True for a validation with probes that load nothing; without a choice it runs all of them."""
    chosen = set(variables.get("probe_checks") or ())
    return bool(chosen) and chosen <= LOOKS


def _minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


REGISTRY: dict[str, Playbook] = {
    book.name: book
    for book in (
        Playbook(
            name="provision_node",
            title="Provision the nodes",
            file="provision_node.yml",
            variables=ProvisionNode,
            timeout=_minutes(120),
            idle=_minutes(20),
        ),
        Playbook(
            name="join_cluster",
            title="Join the nodes into the cluster",
            file="join_cluster.yml",
            variables=JoinCluster,
            policy=ALL_OR_NOTHING,
            timeout=_minutes(30),
            idle=_minutes(10),
        ),
        Playbook(
            name="validate_node",
            title="Validate the nodes",
            file="validate_node.yml",
            variables=ValidateNode,
            by_hand=True,
            harmless=only_looks,
            harmless_when=f"Probes that only look may run there: {', '.join(sorted(LOOKS))}.",
            timeout=_minutes(120),
            idle=_minutes(60),
        ),
        Playbook(
            name="validate_cluster",
            title="Validate the cluster",
            file="validate_cluster.yml",
            variables=ValidateCluster,
            policy=ALL_OR_NOTHING,
            shard_nodes=None,
            timeout=_minutes(60),
            idle=_minutes(30),
        ),
        Playbook(
            name="drain_node",
            title="Drain the nodes",
            file="drain_node.yml",
            variables=DrainNode,
            by_hand=True,
            timeout=_minutes(24 * 60),
            idle=_minutes(24 * 60),
        ),
        Playbook(
            name="wipe_node",
            title="Wipe the nodes",
            file="wipe_node.yml",
            variables=WipeNode,
            timeout=_minutes(60),
            idle=_minutes(20),
        ),
        Playbook(
            name="apply_workaround",
            title="Apply a workaround",
            file="apply_workaround.yml",
            variables=ApplyWorkaround,
            by_hand=True,
            timeout=_minutes(30),
            idle=_minutes(10),
        ),
        Playbook(
            name="revert_workaround",
            title="Take a workaround back",
            file="revert_workaround.yml",
            variables=RevertWorkaround,
            by_hand=True,
            timeout=_minutes(30),
            idle=_minutes(10),
        ),
    )
}


def playbook(name: str) -> Playbook:
    """The playbook called `name`; Refused names those there are."""
    found = REGISTRY.get(name)
    if found is None:
        known = ", ".join(sorted(REGISTRY))
        raise Refused(f"There is no playbook {name[:40]!r}; there are {known}.", code="no-such-playbook")
    return found


def read_variables(book: Playbook, given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` checked value by value and completed with defaults, as plain JSON; Invalid says what is wrong with which."""
    known = {entry.name: entry for entry in fields(book.variables)}
    complaints: dict[str, list[str]] = {
        str(name)[:40]: [f"{book.name} has no such variable."] for name in given if name not in known
    }
    values: dict[str, Any] = {}
    for name, entry in known.items():
        if name not in given:
            if entry.default is MISSING and entry.default_factory is MISSING:
                complaints[name] = ["This is needed."]
            continue
        try:
            values[name] = entry.metadata["read"](given[name])
        except ValueError as problem:
            complaints[name] = [str(problem)]
    if complaints:
        raise Invalid(complaints, f"{book.title}: what it was told can't be used.")
    return {name: value for name, value in asdict(book.variables(**values)).items() if value is not None}
