"""What may a service refuse, and how is it said? One family, shown alike by pages and API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class PortalError(Exception):
    """A refusal that a person or a client can act on; `status` is its HTTP status, `code` its stable name."""

    status = 422
    code = "refused"
    title = "That can't be done"

    def __init__(
        self, message: str, *, code: str | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.data: dict[str, Any] = dict(data or {})


class Refused(PortalError):
    """The rules say no; `data` carries the reason and the nearest yes."""


class Invalid(PortalError):
    """Some fields hold what they can't; `fields` says which and why."""

    code = "invalid"
    title = "Some answers need another look"

    def __init__(
        self, fields: Mapping[str, Sequence[str]], message: str = "Some answers need another look."
    ) -> None:
        super().__init__(message)
        self.fields: dict[str, list[str]] = {name: list(texts) for name, texts in fields.items()}


class UnknownParameter(Invalid):
    """The address asks for what there is not: refused, because a typo must not return everything."""

    status = 400
    code = "unknown-parameter"
    title = "This address asks for something that there is not"


class NotAllowed(PortalError):
    """This person may see it, but may not do that."""

    status = 403
    code = "not-allowed"
    title = "You may not do that"


class NotFound(PortalError):
    """There is no such thing, or this person may not know of it."""

    status = 404
    code = "not-found"
    title = "There is nothing here"


class Conflict(PortalError):
    """Somebody else was quicker; `data` says what happened meanwhile."""

    status = 409
    code = "conflict"
    title = "Somebody else was quicker"


class LostRace(Conflict):
    """A guarded UPDATE found another state or version than the caller saw."""

    code = "lost-race"


class IllegalMove(Conflict):
    """The state table has no such action in this state."""

    code = "illegal-move"
    title = "Not in this state"


class Stale(PortalError):
    """If-Match names a version that is no longer the current one; `data` has the current tag and what changed."""

    status = 412
    code = "stale"
    title = "It has changed meanwhile"


class NotSeen(PortalError):
    """A change of something that others change too has to say which version was looked at."""

    status = 428
    code = "version-needed"
    title = "Say which version you looked at"
