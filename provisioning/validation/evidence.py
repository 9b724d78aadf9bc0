"""What came back from the node, and for each tool: did it run, is it missing, did it hang, could it not start?"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

SCHEMA = 1
MAX_EVIDENCE = 400
MAX_PACKED_BYTES = 4 * 1024 * 1024
MAX_RAW_BYTES = 16 * 1024 * 1024
MAX_TOTAL_RAW_BYTES = 64 * 1024 * 1024
MAX_TEXT = 4096
MAX_RUN = 1000


class Outcome(StrEnum):
    """How the call of a tool ended. Only `ran` says anything of the hardware."""

    RAN = "ran"
    MISSING = "missing"
    TIMED_OUT = "timed_out"
    FAILED_TO_START = "failed_to_start"
    UNREADABLE = "unreadable"  # the node said it ran; what it sent can't be unpacked


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One run of one tool. `stdout` is empty unless the outcome is `ran`; `rc` None where there was no exit."""

    id: str
    run: int
    outcome: Outcome
    command: tuple[str, ...]
    rc: int | None
    seconds: float | None
    stdout: bytes
    truncated: bool
    stderr: str
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """All that one round trip brought home. `problems` are what could not be read of it."""

    node: str
    boot_id: str
    taken_at: str
    simulated: bool
    evidence: tuple[Evidence, ...]
    problems: tuple[str, ...] = ()

    def of(self, evidence_id: str) -> tuple[Evidence, ...]:
        """The runs of one tool, in their order."""
        return tuple(one for one in self.evidence if one.id == evidence_id)


def read_probe(data: object) -> Probe:
    """Unpack the probe a node sent. Never raises: what can't be read becomes a problem, never a pass."""
    if not isinstance(data, Mapping):
        return _nothing("the node sent no probe")
    if data.get("schema") != SCHEMA:
        return _nothing(f"the probe has schema {_text(data.get('schema'), 40)}, {SCHEMA} is understood", data)
    rows = data.get("evidence")
    if not isinstance(rows, list):
        return _nothing("the probe carries no list of evidence", data)
    problems: list[str] = []
    if len(rows) > MAX_EVIDENCE:
        problems.append(f"{len(rows)} pieces of evidence, only the first {MAX_EVIDENCE} are read")
    found = _read_rows(rows[:MAX_EVIDENCE], problems)
    return Probe(
        node=_text(data.get("node")),
        boot_id=_text(data.get("boot_id")),
        taken_at=_text(data.get("taken_at")),
        simulated=data.get("simulated") is True,
        evidence=tuple(sorted(found, key=lambda one: (one.id, one.run, one.outcome, one.stdout))),
        problems=tuple(sorted(problems)),
    )


def _nothing(problem: str, data: Mapping[object, object] | None = None) -> Probe:
    known: Mapping[object, object] = data if data is not None else {}
    return Probe(
        node=_text(known.get("node")),
        boot_id=_text(known.get("boot_id")),
        taken_at=_text(known.get("taken_at")),
        simulated=known.get("simulated") is True,
        evidence=(),
        problems=(problem,),
    )


def _read_rows(rows: list[object], problems: list[str]) -> list[Evidence]:
    found: list[Evidence] = []
    left = MAX_TOTAL_RAW_BYTES
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("id"), str):
            problems.append("a piece of evidence without an id")
            continue
        evidence = _read_row(row, min(left, MAX_RAW_BYTES))
        left -= len(evidence.stdout)
        if evidence.problem:
            problems.append(f"{evidence.id}#{evidence.run}: {evidence.problem}")
        found.append(evidence)
    return found


def _read_row(row: Mapping[object, object], limit: int) -> Evidence:
    outcome = _outcome(row.get("outcome"))
    stdout, problem = b"", ""
    if outcome is Outcome.RAN:
        stdout, problem = _unpack(row.get("stdout"), limit)
    elif outcome is Outcome.UNREADABLE:
        problem = f"outcome {_text(row.get('outcome'), 40)!r} is not known"
    if problem:
        outcome = Outcome.UNREADABLE
    command = row.get("command")
    return Evidence(
        id=_text(row.get("id"), 80),
        run=_whole(row.get("run"), low=1, high=MAX_RUN) or 1,
        outcome=outcome,
        command=tuple(_text(word) for word in command[:64]) if isinstance(command, list) else (),
        rc=_whole(row.get("rc"), low=-1024, high=1024),
        seconds=_seconds(row.get("seconds")),
        stdout=stdout,
        truncated=row.get("truncated") is True,
        stderr=_text(row.get("stderr")),
        problem=problem,
    )


def _outcome(word: object) -> Outcome:
    try:
        return Outcome(str(word))
    except ValueError:
        return Outcome.UNREADABLE


def _unpack(packed: object, limit: int) -> tuple[bytes, str]:
    """base64(gzip(bytes)) with both sizes capped, so that a few bytes can't become gigabytes."""
    if not isinstance(packed, str):
        return b"", "no output was sent"
    if len(packed) > MAX_PACKED_BYTES:
        return b"", f"packed output of {len(packed)} characters is over the limit"
    try:
        zipped = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return b"", "output is not base64"
    if not zipped:
        return b"", ""
    unzip = zlib.decompressobj(wbits=31)
    try:
        raw = unzip.decompress(zipped, max(limit, 1))
    except zlib.error:
        return b"", "output is not gzip"
    if unzip.unconsumed_tail:
        return b"", f"output unpacks to more than {limit} bytes"
    if not unzip.eof:
        return b"", "gzip output is cut off"
    return raw, ""


def pack(raw: bytes) -> str:
    """The node's side of `_unpack`: base64(gzip(bytes)), the same for the same bytes."""
    maker = zlib.compressobj(wbits=31)
    return base64.b64encode(maker.compress(raw) + maker.flush()).decode("ascii")


def _text(value: object, limit: int = MAX_TEXT) -> str:
    return str(value)[:limit] if isinstance(value, (str, int, float)) else ""


def _whole(value: object, *, low: int, high: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if low <= value <= high else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e6 else None
