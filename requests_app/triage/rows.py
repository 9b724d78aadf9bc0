"""What does a line of the desk's list say? Worded once a row: in a template each of its conditions costs more than the row's query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from portal.accounts.models import User
from portal.shell.templatetags.portal_tags import hours, moment, state_word
from requests_app.tickets.models import Ticket


class Row(NamedTuple):
    """One line. `blocked` and `state` are empty where there is nothing to say; `duty` says that its person is not given but on duty."""

    ref: str
    title: str
    when: str
    team: str
    blocked: str
    state: str
    who: str
    login: str
    duty: bool
    is_open: bool


def rows_of(
    tickets: Iterable[Ticket], *, ranked: bool, open_one: int | None, on_duty: User | None
) -> Iterator[Row]:
    """Lines of tickets from `inbox.listed`; `ranked` ones say their head start instead of since when."""
    for ticket in tickets:
        blocked = ticket.blocked_since is not None
        steps_in = ticket.assignee is None and blocked and on_duty is not None
        person = on_duty if steps_in else ticket.assignee
        yield Row(
            ref=ticket.ref,
            title=ticket.title,
            when=_when(ticket.head_start if ranked else None, ticket.state_since),  # type: ignore[attr-defined]
            team=ticket.team.name,
            blocked=_blocked(ticket.blocked_people, ticket.idle_gpus) if blocked else "",
            state="" if ranked else state_word(ticket.status),
            who="" if person is None else person.get_full_name() or person.username,
            login="" if person is None else person.username,
            duty=steps_in,
            is_open=ticket.pk == open_one,
        )


def _when(head_start: float | None, since: datetime) -> str:
    return moment(since) if head_start is None else hours(head_start)


def _blocked(people: int, gpus: int) -> str:
    return f"blocked: {people} {'person' if people == 1 else 'people'}, {gpus} GPU{'' if gpus == 1 else 's'}"
