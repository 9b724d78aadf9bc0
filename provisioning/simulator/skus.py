"""Which figures does a SKU promise, read from the same files the validation judges by?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SKU_FOLDER = Path(__file__).resolve().parents[1] / "fleet" / "skus"
NEEDED = ("slug", "gpu_model", "gpu_count", "memory_mib", "nvlink", "pcie", "nics", "driver", "expected")


class UnknownSku(ValueError):
    """No such SKU, or a file that can't be simulated; the message says which are known."""


def known() -> list[str]:
    """Slugs that have a file."""
    return sorted(path.stem for path in SKU_FOLDER.glob("*.yaml"))


def load(slug: str) -> dict[str, Any]:
    """One SKU as its file states it."""
    if slug not in known():
        raise UnknownSku(f"no SKU {slug!r}: known are {', '.join(known())}")
    data: dict[str, Any] = yaml.safe_load((SKU_FOLDER / f"{slug}.yaml").read_text(encoding="utf-8"))
    missing = [key for key in NEEDED if key not in data]
    if missing:
        raise UnknownSku(f"{slug}.yaml lacks {', '.join(missing)}")
    if data.get("vendor", "nvidia") != "nvidia":
        raise UnknownSku(f"{slug} is made by {data['vendor']}: there are no stand-ins for its tools")
    return data


def expected_value(sku: dict[str, Any], metric: str) -> float | None:
    """What a healthy node of the SKU measures, or None when nobody has said."""
    entry = sku["expected"].get(metric)
    if entry is None:
        return None
    value = entry["value"] if isinstance(entry, dict) else entry
    return None if value is None else float(value)
