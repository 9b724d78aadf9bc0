"""Jobs that measured, without a worker: nodes, what they sent, and who may see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs.models import HostResult, Job
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order
from provisioning.orders.services import place_order
from tests.provisioning.builders import a_build
from tests.provisioning.validation import healthy
from tests.provisioning.validation.healthy import evidence, nccl_text, probe, repeats


@cache
def sent(gemm: float = 1.0, *, memory: float = 1.0, runs: int = 3) -> dict[str, Any]:
    """The probe of a node whose figures are shares of the usual ones."""
    factors = [healthy.NOISE[run % 3] for run in range(runs)]
    usual = {gpu: 769.0 * (gemm if gpu == 5 else 1.0) for gpu in range(8)}
    return probe(
        repeated={
            "gemm": [healthy.gemm_text(usual, factor=factor) for factor in factors],
            "gpu-stream": repeats(healthy.stream_text, dict.fromkeys(range(8), 3015.0 * memory)),
        }
    )


@cache
def rerun(gemm: float = 1.0, *, runs: int = 5) -> dict[str, Any]:
    """What a rerun of the matrix multiplication alone sends."""
    usual = {gpu: 769.0 * (gemm if gpu == 5 else 1.0) for gpu in range(8)}
    rows = [
        evidence("gemm", healthy.gemm_text(usual, factor=healthy.NOISE[run % 3]), run=run + 1)
        for run in range(runs)
    ]
    return {**probe(), "evidence": rows}


def together(busbw: float = 355.0, *, nodes: int = 4) -> dict[str, Any]:
    """What the first node of a cluster sends after the collective."""
    raw = nccl_text(busbw, ranks=8, nodes=nodes)
    rows = [evidence("nccl-all-reduce-cluster", raw, run=run) for run in (1, 2, 3)]
    return {**probe(), "evidence": rows}


def measured(
    probes: Mapping[str, object], *, order: Order | None = None, playbook: str = "validate_node"
) -> Job:
    """A job that has ended, with what each of these nodes sent; a node that sent nothing has None."""
    job = Job.objects.create(
        playbook=playbook,
        purpose="Measure the nodes",
        order=order,
        attempt=1,
        status="succeeded",
        ended_at=now(),
    )
    for node in Node.objects.filter(name__in=probes):
        data = {} if probes[node.name] is None else {"probe": probes[node.name]}
        HostResult.objects.create(job=job, attempt=1, node=node, ending="ok", data=data)
    return job


def an_order(team: Team, nodes: int, *, name: str = "train") -> Order:
    """A build of this team with its nodes reserved; they are the first by name."""
    order = place_order(spec=a_build(team.slug, nodes, cluster_name=name), requested_for="T-1/1", by=None)
    advance(order_id=order.pk)
    order.refresh_from_db()
    return order


def held(order: Order) -> list[str]:
    """Names of the nodes that an order holds."""
    return sorted(order.reservations.filter(released_at=None).values_list("node__name", flat=True))


def all_of(names: Iterable[str], **odd: object) -> dict[str, object]:
    """Healthy probes for these nodes, but for the odd ones (`gpu_001=…`)."""
    return {name: odd.get(name.replace("-", "_"), sent()) for name in names}


def client_of(user: User) -> Client:
    """A browser of this person."""
    client = Client()
    client.force_login(user)
    return client
