"""What is a check, which are there, and what did they find?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from portal.config import Config
from portal.embedded import state


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Answer:
    """What one check found, in words for a person, and how to mend it."""

    level: Level
    says: str
    mend: str = ""
    name: str = ""


class NotCheckedError(Exception):
    """A check that can't be made now; the message says why."""


@dataclass
class Context:
    """What checks look at."""

    config: Config

    @property
    def is_up(self) -> bool:
        """Does a supervisor run on this var folder?"""
        found = state.State.read(self.config.var_dir)
        return found is not None and found.supervisor.alive


Check = Callable[[Context], Answer]
CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[Check], Check]:
    """Register a check under the name that is printed; they run in the order of their definition."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


def run(context: Context) -> Iterator[Answer]:
    for name, function in CHECKS.items():
        found = _one(function, context)
        yield Answer(found.level, found.says, found.mend, name)


def _one(function: Check, context: Context) -> Answer:
    try:
        return function(context)
    except NotCheckedError as why:
        return skipped(str(why))
    except Exception as problem:  # noqa: BLE001 - a check that breaks must not hide what the others find
        return wrong(f"the check itself failed: {type(problem).__name__}: {problem}", "Please report this.")


def ok(says: str) -> Answer:
    return Answer(Level.OK, says)


def warn(says: str, mend: str) -> Answer:
    return Answer(Level.WARN, says, mend)


def wrong(says: str, mend: str) -> Answer:
    return Answer(Level.WRONG, says, mend)


def skipped(says: str) -> Answer:
    return Answer(Level.SKIPPED, says)
