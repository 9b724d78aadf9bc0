"""What tests build: a SKU, healthy nodes, a quota, and a catalogue that stands."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command

from portal.accounts.models import Team, User
from provisioning.fleet.models import Node, Rack, Sku
from provisioning.fleet.states import NodeState
from requests_app.catalogue.models import Offering
from requests_app.quotas.services import set_limit
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.models import Ticket

H100 = "h100-sxm5-80g"


def a_sku(slug: str = H100, *, gpus: int = 8) -> Sku:
    """A kind of node; the same one when asked twice."""
    made, _ = Sku.objects.get_or_create(
        slug=slug,
        defaults={
            "name": slug.upper(),
            "gpu_model": "NVIDIA H100 80GB HBM3",
            "gpus_per_node": gpus,
            "memory_mib": 81_559,
            "driver_version": "550.54.15",
            "content_hash": "0" * 64,
        },
    )
    return made


def some_nodes(count: int, *, sku: Sku | None = None, rack: str = "rack-1", **columns: Any) -> list[Node]:
    """Healthy free nodes; names go on counting."""
    sku = sku or a_sku()
    place, _ = Rack.objects.get_or_create(name=rack)
    first = Node.objects.count() + 1
    return [
        Node.objects.create(
            name=f"gpu-{number:03d}",
            address=f"10.0.{number // 250}.{number % 250 + 1}",
            sku=sku,
            rack=place,
            **{"status": NodeState.FREE, "simulated": True, **columns},
        )
        for number in range(first, first + count)
    ]


def a_quota(team: Team, limit: int | None = 64, *, sku: str = H100) -> None:
    """What the team may hold."""
    set_limit(team=team, sku=sku, limit=limit, reason="agreed", by=None)


def a_catalogue() -> None:
    """The offerings of the repository."""
    call_command("load_catalogue", verbosity=0)


def a_cluster_ask(team: Team, by: User, *, nodes: int = 4, **answers: Any) -> Ticket:
    """A filed request for a cluster."""
    offering = Offering.objects.select_related("current").get(slug="gpu-cluster")
    assert offering.current is not None
    given = {
        "purpose": "Training the next model.",
        "sku": H100,
        "nodes": nodes,
        "cluster_name": "train",
        "lease": "fixed",
        "lease_days": 14,
        "driver": "standard",
        "storage": False,
        **answers,
    }
    return submit_ticket(offering_version=offering.current, team=team, answers=given, by=by)
