"""What do the processes of one machine say? One readable stream, and a file for each of them."""

import logging
import threading
import unicodedata
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import BinaryIO, TextIO

from portal.embedded.folders import ensure_private

FILE_BYTES = 5_000_000
FILES_KEPT = 3
LINE_BYTES = 16_384
REMEMBERED_LINES = 6
NAME_WIDTH = 8
COLOURS: Mapping[str, int] = {
    "up": 1,
    "web": 36,
    "jobs": 33,
    "doorbell": 35,
    "beat": 32,
    "postgres": 34,
    "broker": 90,
}
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # escapes, direction marks: text must not steer a terminal


class Log:
    """Takes lines from many threads. Without a `screen` only the files are written."""

    def __init__(self, folder: Path, screen: TextIO | None) -> None:
        ensure_private(folder)
        self._folder = folder
        self._screen = screen
        self._coloured = screen is not None and screen.isatty()
        self._turn = threading.Lock()
        self._files: dict[str, RotatingFileHandler] = {}
        self._last: dict[str, deque[str]] = {}

    def say(self, text: str) -> None:
        """The supervisor's own words."""
        self.write("up", text)

    def write(self, name: str, line: str, *, on_screen: bool = True) -> None:
        clean = printable(line.rstrip())
        moment = datetime.now(tz=UTC).astimezone()
        with self._turn:
            self._last.setdefault(name, deque(maxlen=REMEMBERED_LINES)).append(clean)
            self._to_file(name, f"{moment.isoformat(timespec='milliseconds')} {clean}")
            if on_screen:
                self._to_screen(name, f"{moment:%H:%M:%S}", clean)

    def follow(self, name: str, stream: BinaryIO, *, on_screen: bool = True) -> None:
        """Write every line of the stream until it ends; runs in a thread of its own."""
        with stream:
            while raw := stream.readline(LINE_BYTES):
                self.write(name, raw.decode("utf-8", errors="backslashreplace"), on_screen=on_screen)

    def last_words(self, name: str) -> str:
        """The end of what one process said, to explain why it failed, and where the rest is."""
        with self._turn:
            lines = [*self._last.get(name, ())]
        where = f"(all of it is in {self._folder / name}.log)"
        return "\n".join([*lines[-REMEMBERED_LINES:], where])

    def close(self) -> None:
        with self._turn:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _to_file(self, name: str, text: str) -> None:
        file = self._files.get(name)
        if file is None:
            path = self._folder / f"{name}.log"
            file = RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8")
            self._files[name] = file
        file.emit(logging.makeLogRecord({"msg": text}))

    def _to_screen(self, name: str, moment: str, text: str) -> None:
        if self._screen is None:
            return
        label = f"{name:<{NAME_WIDTH}}"
        if self._coloured:
            label = f"\x1b[{COLOURS.get(name, 37)}m{label}\x1b[0m"
        try:
            encoding = self._screen.encoding or "utf-8"
            safe = text.encode(encoding, errors="backslashreplace").decode(encoding)
            self._screen.write(f"{moment} {label} {safe}\n")
            self._screen.flush()
        except (OSError, ValueError):
            self._screen = None  # nobody reads any more: the files still do


def printable(text: str) -> str:
    """The text with everything that steers a terminal shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        sign if sign == "\t" or unicodedata.category(sign) not in INVISIBLE else ascii(sign)[1:-1]
        for sign in text
    )
