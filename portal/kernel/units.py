"""How are quantities said? GPU-hours, durations and shares in the words pages use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

_STEPS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def gpu_hours(gpus: int, span: timedelta) -> float:
    """GPU-hours that `gpus` make in `span`."""
    return gpus * span.total_seconds() / 3600


def say_span(span: timedelta) -> str:
    """A duration in its two largest units: `2 d 4 h`, `3 min 10 s`, `0 s`; negative ones carry a minus."""
    left = int(abs(span).total_seconds())
    parts: list[str] = []
    for size, unit in _STEPS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break
        if len(parts) == 2:
            break
    said = " ".join(parts) or "0 s"
    return f"−{said}" if span < timedelta(0) and parts else said


def say_some(words: Sequence[str], *, most: int) -> str:
    """The first of many: `a, b and 3 more`."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def say_share(share: float) -> str:
    """A share as a percentage with one digit: 0.0634 is `6.3 %`."""
    return f"{share * 100:.1f} %"
