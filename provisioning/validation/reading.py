"""What did a tool say of one thing, and did it say it at all?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

NODE = "node"
"""The device of a reading that belongs to the whole node."""


class ReadingState(StrEnum):
    """Why a reading has a value, or why it has none: six answers that must never be taken for each other."""

    MEASURED = "measured"
    NOT_APPLICABLE = "not_applicable"  # the tool says N/A: this part has no such thing
    UNSUPPORTED = "unsupported"  # the driver can't tell on this part
    RETIRED = "retired"  # the field is gone from this version of the tool
    FAILED = "failed"  # the tool tried and could not
    MISSING = "missing"  # the tool never spoke of it


Value = float | str | None


@dataclass(frozen=True, kw_only=True, order=False)
class Reading:
    """One number or word of one device. `value` is None in every state but measured.

    `source` is the id of the evidence, `run` its repeat (from 1), `detail` what else the tool said of it.
    """

    metric: str
    device: str
    value: Value
    unit: str
    state: ReadingState
    source: str
    run: int = 1
    detail: tuple[tuple[str, str], ...] = ()

    @property
    def measured(self) -> bool:
        return self.state is ReadingState.MEASURED

    @property
    def number(self) -> float | None:
        """The value, where it is a measured number."""
        return self.value if self.measured and isinstance(self.value, float) else None

    @property
    def text(self) -> str | None:
        """The value, where it is a measured word."""
        return self.value if self.measured and isinstance(self.value, str) else None

    @property
    def ref(self) -> str:
        """The evidence to look at: `nvidia-smi-xml#1`."""
        return f"{self.source}#{self.run}"

    def told(self, key: str) -> str:
        """One word of the detail, empty where there is none."""
        return dict(self.detail).get(key, "")


def sort_key(
    reading: Reading,
) -> tuple[str, tuple[object, ...], int, str, str, str, tuple[tuple[str, str], ...]]:
    """A total order, so that nothing depends on the order in which evidence arrived."""
    return (
        reading.metric,
        device_key(reading.device),
        reading.run,
        reading.source,
        reading.state.value,
        repr(reading.value),
        reading.detail,
    )


def device_key(device: str) -> tuple[object, ...]:
    """Devices in the order people count: gpu:2 before gpu:10."""
    head, _, tail = device.partition(":")
    number = int(tail) if tail.isdecimal() and tail.isascii() and len(tail) < 9 else -1
    return (head, number, tail)


class ReadingSet:
    """All readings of one node, immutable, sorted, looked up by metric."""

    def __init__(self, readings: Iterable[Reading] = ()) -> None:
        self._all = tuple(sorted(readings, key=sort_key))

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _by_metric(self) -> Mapping[str, tuple[Reading, ...]]:
        groups: dict[str, list[Reading]] = {}
        for reading in self._all:
            groups.setdefault(reading.metric, []).append(reading)
        return MappingProxyType({metric: tuple(group) for metric, group in groups.items()})

    def of(self, metric: str, *, device: str | None = None) -> tuple[Reading, ...]:
        """Every reading of a metric, by device and run."""
        found = self._by_metric.get(metric, ())
        return found if device is None else tuple(reading for reading in found if reading.device == device)

    def measured(self, metric: str, *, device: str | None = None) -> tuple[Reading, ...]:
        """Those that carry a value."""
        return tuple(reading for reading in self.of(metric, device=device) if reading.measured)

    def devices(self, metric: str) -> tuple[str, ...]:
        """The devices that were spoken of."""
        return tuple(sorted({reading.device for reading in self.of(metric)}, key=device_key))

    def numbers(self, metric: str, *, device: str | None = None) -> tuple[float, ...]:
        """The measured numbers, in order of device and run."""
        found = (reading.number for reading in self.of(metric, device=device))
        return tuple(number for number in found if number is not None)

    def last(self, metric: str, device: str = NODE) -> Reading | None:
        """The newest reading of one device, measured or not."""
        found = self.of(metric, device=device)
        return found[-1] if found else None
