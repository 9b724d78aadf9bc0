"""What do the parts stand on? Django, tables, simulated nodes and jobs that wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings
from django.core.management import call_command

from provisioning.fleet.models import Node, Sku
from provisioning.jobs.models import Job
from provisioning.jobs.services import request_job
from provisioning.simulator import fleet

SKU = "h100-sxm5-80g"
BOOKS: dict[str, dict[str, Any]] = {
    "drain_node": {"reason": "bench"},
    "provision_node": {"team": "bench", "fabric_manager": True},
}


def prepare() -> dict[str, Any]:
    """Tables and a SKU."""
    call_command("migrate", verbosity=0)
    Sku.objects.get_or_create(
        slug=SKU,
        defaults={"name": "H100", "gpu_model": "NVIDIA H100", "gpus_per_node": 8, "memory_mib": 81559},
    )
    return {}


def nodes(count: int) -> list[Node]:
    """Simulated nodes with their folders."""
    folder = Path(settings.VAR_DIR) / f"fleet-{count}"
    if not folder.is_dir():
        fleet.create(folder, count=count, sku=SKU, seed=7, prefix=f"n{count}-")
    made = fleet.node_dirs(folder)
    sku = Sku.objects.get(slug=SKU)
    return [
        Node.objects.get_or_create(
            name=path.name,
            defaults={
                "status": "free",
                "sku": sku,
                "address": f"192.0.2.{number % 250 + 1}",
                "connection": "simulated",
                "simulated": True,
                "simulated_node_dir": str(path),
                "node_root": str(path / "root"),
            },
        )[0]
        for number, path in enumerate(made, start=1)
    ]


def a_job(chosen: list[Node], book: str = "drain_node") -> Job:
    """A job that waits."""
    return request_job(playbook=book, nodes=chosen, variables=BOOKS[book], purpose="bench", by=None)
