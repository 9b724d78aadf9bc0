"""Somebody else was quicker: what did this person type, what stands there now, and how do neither of them get lost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from portal.kernel.errors import PortalError

OURS = frozenset({"csrfmiddlewaretoken", "version", "token", "next"})
LONG = 60


@dataclass(frozen=True, kw_only=True)
class Typed:
    """One field of the form that came too late. `now` is what stands there now, None where the refusal doesn't say."""

    name: str
    title: str
    text: str
    now: str | None

    @property
    def is_long(self) -> bool:
        """True when it needs more than a line."""
        return len(self.text) > LONG or "\n" in self.text

    @property
    def differs(self) -> bool:
        """True when what stands there now is something else."""
        return self.now is not None and self.now != self.text


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """A form that came too late. `version` is the current one: sent with it, the form counts; None when nobody knows it."""

    address: str
    typed: tuple[Typed, ...]
    version: int | None

    @property
    def wrote(self) -> bool:
        """True when there is something that could have been lost."""
        return any(each.text.strip() for each in self.typed)


def conflict_of(request: HttpRequest, problem: PortalError) -> Conflict | None:
    """The texts of a POST that was refused because its page was stale; None for any other refusal."""
    if problem.status not in (409, 412) or request.method != "POST" or request.path.startswith("/api/"):
        return None
    current: dict[str, Any] = problem.data.get("current") or {}
    version = problem.data.get("version")
    typed = tuple(
        Typed(
            name=name,
            title=name.rpartition("-")[2].replace("_", " ").capitalize() or name,
            text=str(text),
            now=str(current[name]) if name in current else None,
        )
        for name in request.POST
        if name not in OURS
        for text in request.POST.getlist(name)
    )
    return Conflict(address=request.path, typed=typed, version=version if isinstance(version, int) else None)
