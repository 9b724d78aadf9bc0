"""Which part of the desk does an address ask for? Pure: names and values that exist, everything else is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from portal.kernel.errors import UnknownParameter
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.tickets.states import TicketState

VIEWS: dict[str, str] = {
    "inbox": "Inbox",
    "queue": "To decide",
    "mine": "On my desk",
    "blocked": "Blocked",
    "snoozed": "Snoozed",
    "waiting": "With the team",
    "by-hand": "By hand",
    "running": "Provisioning",
    "all": "Everything",
}
RANKED = frozenset({"inbox", "queue", "mine", "blocked", "snoozed"})
AGES: dict[str, int] = {"1d": 1, "3d": 3, "7d": 7, "30d": 30}
BLOCKED = ("yes", "no")
ANYBODY, NOBODY, ME = "", "nobody", "me"
PAGE_WORDS = frozenset({"cursor", "open", "version"})
"""What an address of the desk may say beside its filters."""

LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Filters:
    """One part of the desk. Empty is no filter; `age` is filed at least so long ago, `q` words of the request."""

    view: str = "inbox"
    state: str = ""
    team: str = ""
    offering: str = ""
    pillar: str = ""
    blocked: str = ""
    assignee: str = ""
    age: str = ""
    q: str = ""

    @property
    def scope(self) -> str:
        """Ties a page's cursor to these filters."""
        return "|".join(asdict(self).values())

    def as_query(self) -> dict[str, str]:
        """What an address has to say; nothing that is as usual."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value and (name, value) != ("view", "inbox")
        }

    @property
    def narrows(self) -> bool:
        """True when more than the view is said."""
        return any(value for name, value in asdict(self).items() if name != "view")


NAMES = frozenset(asdict(Filters()))


def read_filters(given: Mapping[str, str], *, beside: frozenset[str] = PAGE_WORDS) -> Filters:
    """The filters of an address; UnknownParameter (400) for a name or a value that there is not: nothing is guessed."""
    complaints = {
        name: [f"There is no such filter. Known: {', '.join(sorted(NAMES))}."]
        for name in given
        if name not in NAMES and name not in beside
    }
    kept = {name: given[name].strip() for name in NAMES if given.get(name, "").strip()}
    for name, known in _CLOSED.items():
        if kept.get(name, "") and kept[name] not in known:
            complaints[name] = [f"Choose one of: {', '.join(known)}."]
    complaints.update(
        {name: [f"Use at most {LONGEST} characters."] for name, value in kept.items() if len(value) > LONGEST}
    )
    if complaints:
        raise UnknownParameter(complaints, "The address asks for something that there is not.")
    return Filters(**kept)


_CLOSED: dict[str, tuple[str, ...]] = {
    "view": tuple(VIEWS),
    "state": tuple(str(state) for state in TicketState),
    "pillar": tuple(PILLARS),
    "blocked": BLOCKED,
    "age": tuple(AGES),
}
