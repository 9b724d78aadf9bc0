"""Which version of a row did a client look at? If-Match and the body's `version`, and what is said of a stale one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from portal.kernel.errors import LostRace, NotSeen, Stale

_TAG = re.compile(r'\s*(W/)?"([\x21\x23-\x7e]*)"\s*(?:,|\Z)')
ANY = "*"


def etag_of(version: int) -> str:
    """The strong entity tag of a row's version: `"v7"`."""
    return f'"v{version}"'


def tags_in(header: str) -> frozenset[str] | None:
    """The strong tags of an If-Match header, None for `*`. A weak tag never matches; what is damaged matches nothing."""
    if header.strip() == ANY:
        return None
    found: set[str] = set()
    position = 0
    while position < len(header):
        match = _TAG.match(header, position)
        if match is None:
            return frozenset()
        if match[1] is None:
            found.add(f'"{match[2]}"')
        position = match.end()
    return frozenset(found)


def seen_version(headers: Mapping[str, str], body: dict[str, Any], current: int) -> int:
    """The version the caller looked at, taken out of `body`.

    If-Match comes first: `Stale` (412) when it doesn't name the current version. Without it the body's `version` counts, and
    a service refuses an old one with 409. With neither `NotSeen` (428).
    """
    stated: int | None = body.pop("version", None)
    header = headers.get("If-Match")
    if header is None:
        if stated is None:
            raise NotSeen(
                "Say which version you looked at: send its ETag as If-Match, or `version` in the body.",
                data={"etag": etag_of(current), "version": current},
            )
        return stated
    tags = tags_in(header)
    if tags is not None and etag_of(current) not in tags:
        raise Stale(
            "It has changed since you looked at it. Nothing of yours was done; look again.",
            data={"etag": etag_of(current), "version": current},
        )
    return current if stated is None else stated


def as_stale(problem: LostRace) -> Stale:
    """A race lost by who sent If-Match: the same news as a tag that was old from the start."""
    version = problem.data.get("version")
    more = {"etag": etag_of(version)} if isinstance(version, int) else {}
    return Stale(problem.message, data={**problem.data, **more})
