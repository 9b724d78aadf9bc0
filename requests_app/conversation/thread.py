"""What happened to a ticket, and who said what, in order? Long stories are read from both ends; the middle comes by keyset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.safestring import SafeString

from portal.accounts.models import User
from portal.ledger.models import Event
from provisioning import interface
from requests_app import events as ticket_events
from requests_app.conversation.prose import comment_html
from requests_app.tickets.models import Comment, Line, Ticket
from requests_app.tickets.sentences import HIDDEN_FROM_TEAMS, SHOWN_OTHERWISE, say

MOST_TOLD = 500
HEAD, TAIL, STEP, LONGEST_TAIL = 10, 40, 50, 300
EVENT, COMMENT = 0, 1
M = TypeVar("M", bound=Model)
Key = tuple[datetime, int, int]
_WITH_COMMENTS = (ticket_events.TICKET_FILE_ADDED, ticket_events.TICKET_FILE_REMOVED)
_CURSOR = re.compile(r"([ec])([1-9][0-9]{0,17})")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing of a ticket's story, as the page and the API show it. `key` is its place, `cursor` its name in addresses."""

    at: datetime
    actor: User | None
    title: str
    kind: str
    key: Key
    tone: str = ""
    body: str = ""
    comment: str = ""
    internal: bool = False
    anchor: str = ""
    said: Comment | None = None

    @property
    def cursor(self) -> str:
        """`e12` or `c34`."""
        return f"{'ec'[self.key[1]]}{self.key[2]}"

    @property
    def html(self) -> SafeString:
        """What a person wrote, to be shown."""
        return comment_html(self.comment)


@dataclass(frozen=True, kw_only=True)
class Thread:
    """Both ends of a story; `left_out` entries lie between `after` and `until`."""

    head: tuple[Entry, ...]
    tail: tuple[Entry, ...]
    left_out: int = 0

    @property
    def after(self) -> str:
        """The last entry of the head."""
        return self.head[-1].cursor if self.head else ""

    @property
    def until(self) -> str:
        """The first entry of the tail: a page that asks again sends it, so that its end only grows."""
        return self.tail[0].cursor if self.tail else ""


class Story:
    """A ticket's story for one reader. Whoever makes it has checked that the reader may see the ticket."""

    def __init__(self, ticket: Ticket, reader: User, lines: Iterable[Line]) -> None:
        ordered = any(line.order_ref for line in lines)
        subjects = [ticket.ref, *(interface.order_refs_for(ticket.ref) if ordered else ())]
        left_out = SHOWN_OTHERWISE if reader.is_infra else SHOWN_OTHERWISE | HIDDEN_FROM_TEAMS
        events = Event.objects.filter(subject__in=subjects).exclude(name__in=left_out)
        events = events.exclude(~Q(payload__comment=None), name__in=_WITH_COMMENTS)
        if not reader.is_infra:
            events = events.exclude(payload__contains={"internal": True})
        self.events = events.select_related("actor")
        self.ticket = ticket
        self.comments = Comment.objects.visible_to(reader).filter(ticket=ticket).select_related("author")

    def ends(self, start: str = "") -> Thread:
        """The first few and the last ones; from the entry `start` on when it is named."""
        named = self._key(start)
        if named is not None:
            tail = [*self._at(start), *self._take(after=named, limit=LONGEST_TAIL)]
            if len(tail) <= LONGEST_TAIL:
                return self._with_head(tail)
        tail = self._take(limit=TAIL, newest=True)
        return self._with_head(tail) if len(tail) == TAIL else Thread(head=(), tail=tuple(tail))

    def _with_head(self, tail: Sequence[Entry]) -> Thread:
        if not tail:
            return Thread(head=(), tail=())
        head = self._take(before=tail[0].key, limit=HEAD)
        left = self._count(head[-1].key, tail[0].key) if head else 0
        return Thread(head=tuple(head), tail=tuple(tail), left_out=left)

    def between(self, after: str, until: str) -> tuple[list[Entry], int]:
        """The next entries after `after` and before `until`, and how many are left then."""
        first, last = self._key(after), self._key(until)
        if first is None or last is None:
            return [], 0
        found = self._take(after=first, before=last, limit=STEP)
        return found, self._count(found[-1].key, last) if len(found) == STEP else 0

    def newest(self, limit: int = MOST_TOLD) -> list[Entry]:
        """The last `limit` entries, oldest first."""
        return self._take(limit=limit, newest=True)

    def _take(
        self, *, after: Key | None = None, before: Key | None = None, limit: int, newest: bool = False
    ) -> list[Entry]:
        sign = "-" if newest else ""
        order = (f"{sign}at", f"{sign}pk")
        events = _within(self.events, EVENT, after, before).order_by(*order)[:limit]
        said = _within(self.comments, COMMENT, after, before).order_by(*order)[:limit]
        rows = [*map(_of_event, events), *map(self._of_comment, said)]
        rows.sort(key=lambda entry: entry.key)
        return rows[-limit:] if newest else rows[:limit]

    def _count(self, after: Key, before: Key) -> int:
        return (
            _within(self.events, EVENT, after, before).count()
            + _within(self.comments, COMMENT, after, before).count()
        )

    def _at(self, cursor: str) -> list[Entry]:
        number = int(cursor[1:])
        if cursor[0] == "e":
            return [_of_event(event) for event in self.events.filter(pk=number)]
        return [self._of_comment(said) for said in self.comments.filter(pk=number)]

    def _of_comment(self, comment: Comment) -> Entry:
        comment.ticket = self.ticket
        return _of_comment(comment)

    def _key(self, cursor: str) -> Key | None:
        """The place of a named entry that this reader may see; None for any other name."""
        match = _CURSOR.fullmatch(cursor)
        found = self._at(cursor) if match else []
        return found[0].key if found else None


def _within(rows: QuerySet[M], source: int, after: Key | None, before: Key | None) -> QuerySet[M]:
    if after is not None:
        rows = rows.filter(_beyond(source, after, "gt"))
    return rows if before is None else rows.filter(_beyond(source, before, "lt"))


def _beyond(source: int, key: Key, step: Literal["gt", "lt"]) -> Q:
    """Rows of one table that come after (or before) a place in the common order of (at, table, id)."""
    at, table, number = key
    same = Q(at=at)
    if source == table:
        same &= Q(**{f"pk__{step}": number})
    elif (source > table) != (step == "gt"):
        return Q(**{f"at__{step}": at})
    return Q(**{f"at__{step}": at}) | same


def _of_event(event: Event) -> Entry:
    said = say(event.name, event.payload)
    return Entry(
        at=event.at,
        actor=event.actor,
        title=said.title,
        kind=event.name,
        key=(event.at, EVENT, event.pk),
        tone=said.tone,
        body=said.body,
        internal=event.payload.get("internal") is True,
        anchor=f"event-{event.pk}",
    )


def _of_comment(comment: Comment) -> Entry:
    return Entry(
        at=comment.at,
        actor=comment.author,
        title="Note of the desk" if comment.internal else "Comment",
        kind="comment",
        key=(comment.at, COMMENT, comment.pk),
        comment=comment.body,
        internal=comment.internal,
        anchor=f"comment-{comment.pk}",
        said=comment,
    )


def story_entries(ticket: Ticket, user: User, lines: Sequence[Line]) -> list[Entry]:
    """The newest of the story, oldest first; teams don't see the desk's notes."""
    return Story(ticket, user, lines).newest()
