"""How are simulated nodes made, found and taken away?"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from provisioning.simulator import blueprint, launchers, node, skeleton, skus

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def create(
    root: Path,
    *,
    count: int,
    sku: str,
    seed: int,
    prefix: str = "gpu-",
    start: int = 1,
    created_at: float | None = None,
) -> list[Path]:
    """Make `count` node folders below `root`, named prefix + number; returns them in order.

    A folder that is already a node is refused, so that nobody's changes are lost; `created_at` (Unix time) is now unless given.
    """
    data = skus.load(sku)
    if count < 1 or start < 1:
        raise ValueError(f"count={count} and start={start} must be at least 1")
    when = time.time() if created_at is None else created_at
    launchers.install_harmless(root)
    made = []
    for number in range(start, start + count):
        name = f"{prefix}{number:03d}"
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no host name: use lower-case letters, digits and dashes")
        folder = root / name
        if (folder / node.STATE).exists():
            raise FileExistsError(f"{folder} is a simulated node already")
        folder.mkdir(parents=True, exist_ok=True)
        state = blueprint.factory_state(sku=data, seed=seed, name=name, index=number, created_at=when)
        skeleton.write_root(folder, state)
        skeleton.write_sysfs(folder, state)
        launchers.install(folder)
        node.write_state(folder, state)
        made.append(folder)
    return made


def node_dirs(root: Path) -> list[Path]:
    """The nodes below a folder, in the order of their names."""
    return sorted(path.parent for path in root.glob(f"*/{node.STATE}"))


def remove(node_dir: Path) -> None:
    """Take one node away; a folder that is no simulated node is refused."""
    node.read_state(node_dir)
    shutil.rmtree(node_dir)
