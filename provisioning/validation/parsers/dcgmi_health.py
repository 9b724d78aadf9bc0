"""What does `dcgmi health -c -j` call the host? A word to weigh against other sources, never a pass by itself."""

from __future__ import annotations

import json

from provisioning.validation.parsers.parsed import Parsed, measured, parsed
from provisioning.validation.reading import NODE

ID = "dcgmi-health"


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """The overall word: Healthy, Warning, Failure, as printed."""
    try:
        word = json.loads(raw)["body"]["Overall Health"]["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return parsed((), ["dcgmi health gave no JSON of the overall health"])
    if not isinstance(word, str) or not word.strip():
        return parsed((), ["dcgmi health gave no word for the overall health"])
    return parsed([measured("dcgm_health", NODE, word.strip()[:60], source=ID, run=run)])
