"""What every parser gives back, and how it turns bytes into lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from provisioning.validation.reading import Reading, ReadingState

MAX_LINES = 200_000
_PCI = re.compile(
    r"(?:PCI:)?(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE | re.ASCII
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """Readings, and in words what could not be read."""

    readings: tuple[Reading, ...] = ()
    problems: tuple[str, ...] = ()


def parsed(readings: Iterable[Reading], problems: Iterable[str] = ()) -> Parsed:
    """A result with its readings as they came."""
    return Parsed(readings=tuple(readings), problems=tuple(problems))


def lines_of(raw: bytes) -> list[str]:
    """Lines of any tool: bad bytes replaced, escape codes and carriage returns of progress bars gone."""
    text = raw.decode("utf-8", errors="replace").replace("\x00", "")
    return _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")[:MAX_LINES]


def pci_address(text: str) -> str:
    """One spelling of a PCI address, 0000:91:00.0, from any of the tools'; empty where it is none."""
    found = _PCI.fullmatch(text.strip())
    if found is None:
        return ""
    domain, bus, device, function = found.groups()
    number = int(domain or "0", 16)
    return f"{number:04x}:{bus}:{device}.{function or '0'}".lower()


def measured(
    metric: str,
    device: str,
    value: float | str,
    *,
    unit: str = "",
    source: str,
    run: int,
    detail: tuple[tuple[str, str], ...] = (),
) -> Reading:
    """A reading that carries a value."""
    return Reading(
        metric=metric,
        device=device,
        value=float(value) if isinstance(value, (int, float)) else value,
        unit=unit,
        state=ReadingState.MEASURED,
        source=source,
        run=run,
        detail=detail,
    )


def without_value(
    metric: str, device: str, state: ReadingState, *, unit: str = "", source: str, run: int, said: str = ""
) -> Reading:
    """A reading that says why there is no value."""
    detail = (("said", said[:300]),) if said else ()
    return Reading(
        metric=metric,
        device=device,
        value=None,
        unit=unit,
        state=state,
        source=source,
        run=run,
        detail=detail,
    )


def finite(text: str) -> float | None:
    """A finite number, or None: "nan", "inf" and 400-digit numbers are no measurement."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None
