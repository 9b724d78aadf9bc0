"""What has the child written since the last look? Whole lines only; a torn one waits or was never finished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

READ_AT_ONCE = 4 * 1024 * 1024


class SpoolReader:
    """Follows an append-only file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""
        self.moved = False  # the last look found bytes
        self.end: dict[str, Any] | None = None
        self.unreadable = 0

    def new_events(self) -> Iterator[dict[str, Any]]:
        """Events that were completed since the last call, at most a few megabytes at a time; the end record is kept apart."""
        for line in self._new_lines():
            try:
                told = json.loads(line)
            except ValueError:
                self.unreadable += 1
                continue
            if not isinstance(told, dict):
                self.unreadable += 1
            elif isinstance(told.get("end"), dict):
                self.end = told["end"]
            else:
                yield told

    def _new_lines(self) -> list[bytes]:
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                self.moved = False
                return []
        chunk = self._file.read(READ_AT_ONCE)
        self.moved = bool(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return lines

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
