"""What can be picked right now? The kinds of nodes in the fleet and the clusters of a team."""

from __future__ import annotations

from portal.accounts.models import Team
from provisioning import interface
from requests_app.catalogue.questions import Choice, Live, LiveCluster


def live_for(team: Team | None) -> Live:
    """Choices for a form or an answer of `team`; without a team there are no clusters."""
    return Live(skus=_skus(), clusters=() if team is None else _clusters(team))


def _skus() -> tuple[Choice, ...]:
    return tuple(
        Choice(value=sku.slug, label=f"{sku.name} ({sku.gpus_per_node} GPUs a node)")
        for sku in interface.skus()
    )


def _clusters(team: Team) -> tuple[LiveCluster, ...]:
    return tuple(
        LiveCluster(
            ref=view.ref, label=f"{view.name} ({len(view.nodes)} nodes)", sku=view.sku, nodes=len(view.nodes)
        )
        for view in interface.clusters_of(team.slug)
    )
