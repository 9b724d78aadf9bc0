"""Is the common log readable, safe to look at, and kept in files of a bounded size?"""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from portal.embedded import logs
from portal.embedded.logs import Log, printable

MakeLog = Callable[..., Log]


@pytest.fixture
def make_log(tmp_path: Path) -> Iterator[MakeLog]:
    made: list[Log] = []

    def make(screen: TextIO | None, name: str = "log") -> Log:
        made.append(Log(tmp_path / name, screen))
        return made[-1]

    yield make
    for log in made:
        log.close()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_line_on_the_screen_begins_with_the_time_and_who_said_it(make_log: MakeLog) -> None:
    screen = io.StringIO()

    make_log(screen).write("web", "hello\n")

    moment, name, text = screen.getvalue().split()
    assert (len(moment.split(":")), name, text) == (3, "web", "hello")


def test_names_are_coloured_on_a_terminal_only(make_log: MakeLog) -> None:
    terminal, file = Terminal(), io.StringIO()

    make_log(terminal, "a").write("web", "hello")
    make_log(file, "b").write("web", "hello")

    assert "\x1b[36mweb" in terminal.getvalue()
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize(
    "evil", ["\x1b[2J", "a\x1b]0;title\x07", "\u202etxt.exe", "\x00", "\x9b31m", "\u2028"]
)
def test_text_of_users_never_steers_the_terminal(evil: str) -> None:
    shown = printable(evil)

    assert shown.isprintable()
    assert shown != evil


@pytest.mark.parametrize("text", ["plain", "Größe 数 ✓", "a\tb", ""])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_a_screen_that_cannot_show_a_sign_gets_an_escape(make_log: MakeLog) -> None:
    raw = io.BytesIO()

    screen = io.TextIOWrapper(raw, encoding="ascii")

    make_log(screen).write("web", "ü")

    assert raw.getvalue().endswith(b"\\xfc\n")


def test_a_screen_that_went_away_does_not_stop_the_files(make_log: MakeLog, tmp_path: Path) -> None:
    screen = io.StringIO()
    log = make_log(screen)
    screen.close()

    log.write("web", "one")
    log.write("web", "two")

    assert (tmp_path / "log/web.log").read_text().count("\n") == 2


def test_files_are_closed_to_others_and_never_grow_without_bound(
    make_log: MakeLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "FILE_BYTES", 1_000)
    log = make_log(None)

    for number in range(200):
        log.write("web", f"{number} {'x' * 50}")
    log.close()

    files = list((tmp_path / "log").iterdir())
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0
    assert len(files) == 1 + logs.FILES_KEPT
    assert all(file.stat().st_size <= 1_000 for file in files)


def test_what_a_process_writes_is_followed_until_it_ends(make_log: MakeLog, tmp_path: Path) -> None:
    log = make_log(None)
    reading, writing = os.pipe()
    os.write(writing, b"first\nb\xffd\n" + b"x" * (logs.LINE_BYTES + 5))
    os.close(writing)

    log.follow("web", os.fdopen(reading, "rb"))

    first, bad, long, rest, where = log.last_words("web").split("\n")
    assert (first, bad, len(long), rest) == ("first", "b\\xffd", logs.LINE_BYTES, "xxxxx")
    assert str(tmp_path / "log/web.log") in where
