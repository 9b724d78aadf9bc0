"""What did somebody type into an offer or into an answer to one? Fields are named `take-3`: the word and the line's position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.replies import Counter

Typed = Mapping[str, str]
LONGEST_NUMBER = 9


@dataclass
class Reading:
    """Reads typed fields and gathers what is wrong with them."""

    typed: Typed
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A text as it was typed, without white space around it."""
        return str(self.typed.get(name, "")).strip()

    def number(self, name: str) -> int | None:
        """A whole number; None for an empty field."""
        text = self.text(name)
        if not text:
            return None
        if not text.isascii() or not text.isdecimal() or len(text) > LONGEST_NUMBER:
            self.wrong[name] = ["Use a whole number."]
            return None
        return int(text)

    def day(self, name: str) -> date | None:
        """A day; None for an empty field."""
        text = self.text(name)
        if not text:
            return None
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.wrong[name] = ["Use a day such as 2027-03-12."]
            return None

    def check(self) -> None:
        """Invalid when something was wrong."""
        if self.wrong:
            raise Invalid(self.wrong)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The team's answer as it was typed."""

    accept: frozenset[int]
    counter: dict[int, Counter]
    drop: frozenset[int]
    words: str


def read_reply(typed: Typed, positions: Iterable[int]) -> Reply:
    """The answer of the form: the button `do` says `all`, `chosen` or `counter`.

    `all` takes every line whatever is ticked. `chosen` takes the ticked ones; a line for which something else is typed is
    countered, and one that is no longer needed is dropped. `counter` takes none.
    """
    reading, positions = Reading(typed), list(positions)
    words = reading.text("words")
    if reading.text("do") == "all":
        return Reply(accept=frozenset(positions), counter={}, drop=frozenset(), words=words)
    accept, counter, drop = set(), {}, set()
    for position in positions:
        asks = Counter(
            quantity=reading.number(f"quantity-{position}"),
            wanted_on=reading.day(f"on-{position}"),
            words=reading.text(f"words-{position}"),
        )
        if asks != Counter():
            counter[position] = asks
        elif reading.text(f"drop-{position}"):
            drop.add(position)
        elif reading.text(f"take-{position}") and reading.text("do") != "counter":
            accept.add(position)
    reading.check()
    if not (accept or counter or drop or words):
        raise Invalid({"take": ["Tick what you take, or say what you need instead."]})
    return Reply(accept=frozenset(accept), counter=counter, drop=frozenset(drop), words=words)


def read_proposals(typed: Typed, positions: Iterable[int]) -> list[Proposal]:
    """What the desk typed for each undecided line; quantities that its kind doesn't use are left out."""
    reading = Reading(typed)
    made = [_proposal(reading, position) for position in positions]
    reading.check()
    return made


def _proposal(reading: Reading, position: int) -> Proposal:
    kind = reading.text(f"kind-{position}") or "now"
    said = {name: reading.text(f"{name}-{position}") for name in ("reason_code", "reason", "nearest_yes")}
    instead = {name: reading.text(f"{name}-{position}") for name in ("instead_sku", "instead_label")}
    return Proposal(
        position=position,
        kind=kind,
        now_qty=reading.number(f"now-{position}") if kind in {"part", "instead"} else None,
        later_qty=reading.number(f"later-{position}") if kind in {"part", "later"} else None,
        later_on=reading.day(f"on-{position}") if kind in {"part", "later"} else None,
        relief_days=reading.number(f"relief-{position}") if kind != "no" else None,
        reliability=reading.text(f"class-{position}") or "standard",
        **said,
        **(instead if kind == "instead" else {}),
    )


def read_expiry(typed: Typed) -> datetime | None:
    """Until when the offer is open: so many days from now; None for the usual."""
    reading = Reading(typed)
    days = reading.number("days")
    reading.check()
    return None if days is None else now() + timedelta(days=min(days, 3660))


def read_version(typed: Typed) -> int:
    """The version of what was looked at."""
    reading = Reading(typed)
    version = reading.number("version")
    if version is None:
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    reading.check()
    return version


def read_day(typed: Typed, name: str) -> date:
    """A day that must be there."""
    reading = Reading(typed)
    found = reading.day(name)
    reading.check()
    if found is None:
        raise Invalid({name: ["Say the day."]})
    return found
