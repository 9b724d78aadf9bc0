"""What does an attempt need before it can run? Targets, variables, secrets to hide, hashes and a filled workspace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Max

from portal.config import config
from provisioning.credentials.handing import Handed, hand_over
from provisioning.credentials.services import all_values
from provisioning.fleet.models import Node
from provisioning.jobs import accelerator, checkout, workspace
from provisioning.jobs.accelerator import Accelerator
from provisioning.jobs.checkout import Checkout
from provisioning.jobs.claims import Claim
from provisioning.jobs.disturbing import check_disturbs_nobody
from provisioning.jobs.forking import forks_of
from provisioning.jobs.inventory import SshAccess, Target, inventory
from provisioning.jobs.models import HostResult, Job, NodeHostKey
from provisioning.jobs.playbooks import Playbook, playbook, read_variables
from provisioning.jobs.routes import check_reach
from provisioning.jobs.states import JobState
from provisioning.jobs.task_count import count_tasks
from provisioning.jobs.workspace import Workspace

LONGEST_GRACE = 10.0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An attempt that only has to be started."""

    space: Workspace
    book: Playbook
    nodes: Mapping[str, int]
    facts: Mapping[str, Any]
    month: date
    accelerator: Accelerator = field(default_factory=Accelerator)


def owner() -> str:
    """Whose folders and processes are ours: those of this database."""
    return str(connection.settings_dict["NAME"])


def prepare(job: Job, held: Claim) -> Prepared:
    """Make the workspace of the attempt. Refused, Invalid, ValueError or OSError say why it can't be."""
    book = playbook(job.playbook)
    text = checkout.current()
    file = text.playbook(book.file)
    variables = read_variables(book, job.variables)
    own = {"job_ref": job.ref, "attempt": held.attempt, "cluster_ref": job.cluster_ref}
    own["job_mark"] = held.mark  # every play puts it into the environment of what it starts on a node
    nodes = _nodes(held)
    check_reach(job, nodes)
    forks = forks_of(job, hosts=len(nodes))
    if job.order_id is None:  # what was nobody's when it was asked for may be somebody's by now
        check_disturbs_nobody(book, variables, [node.pk for node in nodes])
    space = workspace.create(Path(settings.JOBS_DIR), held.mark, owner=owner())
    try:
        handed = hand_over(space, playbook=book.name, nodes=[node.pk for node in nodes])
        inventory_hash = workspace.fill(
            space,
            inventory=inventory([target(node) for node in nodes], ssh=ssh_access(space, handed)),
            variables={**variables, **own},
            known_hosts=known_hosts_of(nodes),
            spec={**_spec(file, text, held, forks.number), **handed.spec},
        )
        chosen = _accelerator(space, nodes)
    except BaseException:
        space.remove()
        raise
    facts = {
        "playbook_hash": text.hash,
        "inventory_hash": inventory_hash,
        "versions": {**dict(versions()), **_accelerated(chosen)},
        "expected_tasks": expected_tasks(book, text.folder),
        "forks": forks.number,
    }
    return Prepared(
        space=space,
        book=book,
        nodes={node.name: node.pk for node in nodes},
        facts=facts,
        accelerator=chosen,
        month=job.month,
    )


def _accelerated(chosen: Accelerator) -> dict[str, str]:
    return {"mitogen": chosen.says} if chosen.says else {}


def _accelerator(space: Workspace, nodes: Sequence[Node]) -> Accelerator:
    if not config().job_mitogen:
        return Accelerator()
    known = set(
        NodeHostKey.objects.filter(node__in=[node.pk for node in nodes]).values_list("node", flat=True)
    )
    return accelerator.choose(
        connections={node.connection for node in nodes},
        strangers={node.name for node in nodes if node.pk not in known},
        folders=[space.tmp] if space.secrets.is_dir() else [space.tmp, space.control_dir],
    )


def found(job: Job, held: Claim) -> Prepared:
    """An attempt that another worker of this machine prepared and started. Refused when its playbook is gone."""
    return Prepared(
        space=workspace.at(Path(settings.JOBS_DIR) / held.mark),
        book=playbook(job.playbook),
        nodes={node.name: node.pk for node in _nodes(held)},
        facts={},
        month=job.month,
    )


def _nodes(held: Claim) -> list[Node]:
    wanted = HostResult.objects.filter(job_id=held.job_id, attempt=held.attempt).values("node_id")
    return list(Node.objects.filter(pk__in=wanted).select_related("sku").order_by("name"))


def target(node: Node, **extra: str) -> Target:
    """A node as a playbook is told of it, and whatever more this playbook has to know."""
    return Target(
        name=node.name,
        address=node.address,
        connection=node.connection,
        sku=node.sku.slug,
        gpu_count=node.sku.gpus_per_node,
        simulated=node.simulated,
        node_root=node.node_root,
        user=node.ansible_user,
        port=node.ansible_port,
        python_interpreter=node.python_interpreter,
        simulated_node_dir=node.simulated_node_dir,
        extra=extra,
    )


def _spec(file: Path, text: Checkout, held: Claim, forks: int) -> dict[str, Any]:
    lease = held.lease.total_seconds()
    return {
        "mark": held.mark,
        "playbook": str(file),
        "project_dir": str(text.folder),
        "forks": forks,
        "grace_seconds": grace(lease),
        "silence_seconds": silence(lease),
    }


def grace(lease: float) -> float:
    """Seconds a playbook has to tidy up when it is stopped."""
    return min(LONGEST_GRACE, lease / 3)


def silence(lease: float) -> float:
    """Seconds without a renewal after which an attempt ends itself.

    So long that an outage of the database or a worker that is started again costs nothing, since on its own machine it
    is taken over as soon as its lease is over. Another machine can't know, and waits for `is_over_after`.
    """
    return lease * 4


def is_over_after(lease: float) -> float:
    """Seconds after the end of its lease at which an attempt, wherever it ran, has ended itself."""
    return silence(lease) - lease + grace(lease) + LONGEST_GRACE


def ssh_access(space: Workspace, handed: Handed) -> SshAccess:
    """How real nodes are reached from a workspace: by the key that was handed to it, else by the portal's own."""
    return SshAccess(key_file=handed.key_file or config().ssh_key_file, known_hosts=space.known_hosts)


def known_hosts_of(nodes: Iterable[Node]) -> list[str]:
    """Lines of a known_hosts file: the keys that these nodes showed before."""
    keys = (
        NodeHostKey.objects.filter(node__in=[node.pk for node in nodes])
        .select_related("node")
        .order_by("node_id", "key_type")
    )
    return [f"{key.node.name} {key.key_type} {key.key}" for key in keys]


def expected_tasks(book: Playbook, ansible_dir: Path) -> int | None:
    """Tasks a node goes through, from the playbook's last run in which all went well, else counted in its files."""
    last = Job.objects.filter(playbook=book.name, status=JobState.SUCCEEDED).order_by("-id").first()
    if last is None:
        return count_tasks(ansible_dir, book.file)
    most = HostResult.objects.filter(job=last, attempt=last.attempt).aggregate(most=Max("tasks_done"))["most"]
    return None if most is None else int(most)


def secrets_to_hide() -> list[str]:
    """Texts that no record may hold."""
    found = [*all_values(), settings.SECRET_KEY, str(connection.settings_dict.get("PASSWORD") or "")]
    key_file = config().ssh_key_file
    if key_file is not None:
        with suppress(OSError, UnicodeDecodeError):  # ssh will say what is wrong with it
            found.append(key_file.read_text(encoding="utf-8"))
    return [secret for secret in found if secret]


def tool_path() -> str:
    """PATH of the child: this Python's own folder first, where ansible-playbook is."""
    own = str(Path(sys.executable).parent)
    return os.pathsep.join([own, *(folder for folder in os.get_exec_path() if folder != own)])


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """What runs a playbook here."""
    return (
        ("ansible-core", metadata.version("ansible-core")),
        ("ansible-runner", metadata.version("ansible-runner")),
        ("python", ".".join(map(str, sys.version_info[:3]))),
    )
