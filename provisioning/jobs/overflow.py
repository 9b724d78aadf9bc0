"""Where does what the database has no room for go? Compressed to disk, in pieces that an index finds by the event's number.

One attempt has two files in the folder of its month: `J-12.1.events`, compressed pieces of JSON lines one after the other,
and `J-12.1.index` with a line for each piece. A piece counts once its line is written, so a torn one is written again.
"""

from __future__ import annotations

import json
import os
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings

PIECE = 512 * 1024
"""Bytes of text after which a piece is closed within one batch."""
LARGEST = 1024 * 1024 * 1024
"""Bytes on disk that one attempt may take."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Where events `first` to `last` lie in the file."""

    first: int
    last: int
    offset: int
    length: int


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The whole of an event: its text, and its result where that was left out of the row."""

    counter: int
    text: str
    result: Any = None


def folder_of(month: date) -> Path:
    """The folder of a month's overflow."""
    return Path(settings.OVERFLOW_DIR) / f"{month:%Y-%m}"


def _files(job_id: int, attempt: int, month: date) -> tuple[Path, Path]:
    folder = folder_of(month)
    return folder / f"J-{job_id}.{attempt}.events", folder / f"J-{job_id}.{attempt}.index"


@dataclass
class Overflow:
    """Writes the overflow of one attempt. What lies there already, from an earlier reading of the spool, is not written again."""

    job_id: int
    attempt: int
    month: date
    largest: int = LARGEST
    _waiting: list[bytes] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _pieces: list[Piece] | None = None

    def add(self, kept: Kept) -> bool:
        """Take one event, to be written by the next `flush`; False when there is no room for it."""
        if self.size >= self.largest:
            return False
        if kept.counter > self._last:
            told = {"counter": kept.counter, "text": kept.text, "result": kept.result}
            self._waiting.append(json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace"))
            self._numbers.append(kept.counter)
        return True

    def flush(self) -> None:
        """Write what waits. OSError when the disk refuses; then nothing of it counts, and it may be tried again."""
        while self._numbers:
            size, count = 0, 0
            while count < len(self._numbers) and (size < PIECE or not count):
                size += len(self._waiting[count])
                count += 1
            self._write(self._numbers[:count], b"\n".join(self._waiting[:count]))
            del self._numbers[:count], self._waiting[:count]

    def give_up(self) -> int:
        """Forget what can't be written; how many bytes that were."""
        lost = sum(map(len, self._waiting))
        self._waiting.clear()
        self._numbers.clear()
        return lost

    @property
    def size(self) -> int:
        """Bytes on disk."""
        pieces = self._known()
        return pieces[-1].offset + pieces[-1].length if pieces else 0

    @property
    def _last(self) -> int:
        pieces = self._known()
        return self._numbers[-1] if self._numbers else pieces[-1].last if pieces else 0

    def _known(self) -> list[Piece]:
        if self._pieces is None:
            self._pieces = read_index(self.job_id, self.attempt, self.month)
        return self._pieces

    def _write(self, numbers: list[int], lines: bytes) -> None:
        events, index = _files(self.job_id, self.attempt, self.month)
        if not events.parent.is_dir():
            events.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        squeezed = zlib.compress(lines, 6)
        piece = Piece(first=numbers[0], last=numbers[-1], offset=self.size, length=len(squeezed))
        _write_at(events, piece.offset, squeezed)
        _append(index, f"{piece.first} {piece.last} {piece.offset} {piece.length} .\n".encode("ascii"))
        self._known().append(piece)


def _write_at(path: Path, offset: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.seek(offset)
        file.truncate()
        file.write(data)


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(line)


def read_index(job_id: int, attempt: int, month: date) -> list[Piece]:
    """The pieces of an attempt in their order; none when nothing ran over, or when it lies on another machine."""
    _, index = _files(job_id, attempt, month)
    pieces: list[Piece] = []
    try:
        lines = index.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    for line in lines:
        words = line.split()
        if len(words) < 5 or words[-1] != ".":
            continue  # torn by a crash: what it stood for was written again
        first, last, offset, length = map(int, words[-5:-1])
        pieces.append(Piece(first=first, last=last, offset=offset, length=length))
    return pieces


class Reader:
    """Finds whole events of one attempt; keeps the last piece it opened, since neighbours are asked for together."""

    def __init__(self, job_id: int, attempt: int, month: date) -> None:
        self._path = _files(job_id, attempt, month)[0]
        self._pieces = read_index(job_id, attempt, month)
        self._open: tuple[int, dict[int, Kept]] = (-1, {})

    def event(self, counter: int) -> Kept | None:
        """The whole of an event, None when it isn't here."""
        place = bisect_left(self._pieces, counter, key=lambda piece: piece.last)
        if place >= len(self._pieces) or self._pieces[place].first > counter:
            return None
        if self._open[0] != place:
            self._open = (place, {kept.counter: kept for kept in self._read(self._pieces[place])})
        return self._open[1].get(counter)

    def all(self) -> Iterator[Kept]:
        """Every event, a piece in memory at a time."""
        for piece in self._pieces:
            yield from self._read(piece)

    def _read(self, piece: Piece) -> Iterator[Kept]:
        try:
            with self._path.open("rb") as file:
                file.seek(piece.offset)
                lines = zlib.decompress(file.read(piece.length)).split(b"\n")
        except (OSError, zlib.error):
            return
        for line in lines:
            told = json.loads(line)
            yield Kept(counter=told["counter"], text=told["text"], result=told["result"])


def remove(job_id: int, month: date) -> None:
    """Delete the overflow of every attempt of a job."""
    for path in folder_of(month).glob(f"J-{job_id}.*"):
        path.unlink(missing_ok=True)
