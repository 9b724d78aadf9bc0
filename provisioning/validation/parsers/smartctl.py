"""How worn is an NVMe drive? The drive's own overall word is read, and not trusted alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, finite, measured, parsed, without_value
from provisioning.validation.reading import Reading, ReadingState

ID = "smartctl"
_FIELDS = (
    ("available_spare", "disk_spare", "%"),
    ("available_spare_threshold", "disk_spare_threshold", "%"),
    ("percentage_used", "disk_used", "%"),
    ("media_errors", "disk_media_errors", ""),
    ("critical_warning", "disk_critical_warning", ""),
)


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Readings of one drive (`disk:/dev/nvme0`)."""
    try:
        document = json.loads(raw)
        name = document["device"]["name"]
        health = document.get("nvme_smart_health_information_log") or {}
        passed = (document.get("smart_status") or {}).get("passed")
        return parsed(_disk(f"disk:{str(name)[:80]}", health, passed, run))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return parsed((), ["smartctl gave no JSON of a drive"])


def _disk(device: str, health: dict[str, object], passed: object, run: int) -> Iterator[Reading]:
    if isinstance(passed, bool):
        yield measured("disk_smart", device, "passed" if passed else "failed", source=ID, run=run)
    else:
        yield without_value("disk_smart", device, ReadingState.MISSING, source=ID, run=run)
    for key, metric, unit in _FIELDS:
        value = finite(str(health[key])) if key in health else None
        if value is None:
            yield without_value(metric, device, ReadingState.MISSING, unit=unit, source=ID, run=run)
        else:
            yield measured(metric, device, value, unit=unit, source=ID, run=run)
