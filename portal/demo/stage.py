"""What does the demonstration run on? Simulated nodes in three racks, one of them slow without an error to show for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from django.core.management import call_command

from portal.demo.cast import SKU
from provisioning.simulator import faults, fleet
from provisioning.simulator.inventory import inventory

NODES = 9
SEED = 7
SLOW_NODE = "gpu-002"
SLOW_FAULT = "slow-hbm"


def prepare(folder: Path) -> None:
    """Make the nodes once, and import them into the fleet; doing it again changes nothing."""
    nodes, complete = folder / "nodes", folder / "nodes.complete"
    if not complete.is_file():
        shutil.rmtree(nodes, ignore_errors=True)
        fleet.create(nodes, count=NODES, sku=SKU, seed=SEED)
        faults.inject(nodes / SLOW_NODE, SLOW_FAULT)
        complete.touch()
    listed = folder / "fleet.json"
    listed.write_text(json.dumps(inventory(nodes)), encoding="utf-8")
    call_command("import_fleet", str(listed))
