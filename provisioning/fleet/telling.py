"""How are nodes and clusters told to other houses and pages? Rows in, frozen views out."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from provisioning.contracts import ClusterView, NodeView, VerdictValue
from provisioning.fleet.models import Cluster, Node
from provisioning.fleet.states import ClusterState

MOST_LINES = 8


def node_view(node: Node) -> NodeView:
    """One node; needs `sku` and `rack` loaded."""
    return NodeView(
        name=node.name,
        address=node.address,
        sku=node.sku.slug,
        gpus=node.sku.gpus_per_node,
        rack=node.rack.name if node.rack else "",
        status=node.status,
        simulated=node.simulated,
        verdict=VerdictValue(node.verdict) if node.verdict else None,
        verdict_at=node.verdict_at,
        speed=node.speed,
        report_url=reverse("nodes:detail", args=[node.name]),
    )


def cluster_view(cluster: Cluster, nodes: Sequence[Node], *, order_ref: str) -> ClusterView:
    """One cluster with the nodes it holds; needs `team` and `sku` loaded."""
    return ClusterView(
        ref=cluster.ref,
        name=cluster.name,
        team=cluster.team.slug,
        sku=cluster.sku.slug,
        status=cluster.status,
        nodes=tuple(node_view(node) for node in nodes),
        gpus=sum(node.sku.gpus_per_node for node in nodes),
        lease_end=cluster.lease_end,
        created_at=cluster.created_at,
        ready_at=cluster.ready_at,
        order_ref=order_ref,
        verdict=VerdictValue(cluster.verdict) if cluster.verdict else None,
        speed=cluster.speed,
        slowest_node=cluster.slowest_node,
        gpu_hours_lost_per_day=cluster.gpu_hours_lost_per_day,
        busbw_gbps=cluster.busbw_gbps,
        connect=connect_lines(cluster, nodes) if cluster.status == ClusterState.READY else (),
        simulated=any(node.simulated for node in nodes),
        url=reverse("clusters:detail", args=[cluster.ref]),
    )


def connect_lines(cluster: Cluster, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Commands a member can paste: sign in to each of the first nodes, and a shell through the scheduler.

    With one account the name is filled in; with several each person knows their own.
    """
    accounts = [account["name"] for account in cluster.setup.get("accounts", [])]
    who = accounts[0] if len(accounts) == 1 else "YOUR-ACCOUNT"
    lines = [f"ssh {_port(node)}{who}@{node.address}  # {node.name}" for node in nodes[:MOST_LINES]]
    if len(nodes) > MOST_LINES:
        lines.append(f"# and {len(nodes) - MOST_LINES} more, see the list of nodes")
    if nodes:
        gpus = min(node.sku.gpus_per_node for node in nodes)
        lines.append(
            f"srun --partition={cluster.name} --nodes={len(nodes)} --gpus-per-node={gpus} --pty bash -l"
        )
    return tuple(lines)


def _port(node: Node) -> str:
    return "" if node.ansible_port in (None, 22) else f"-p {node.ansible_port} "
