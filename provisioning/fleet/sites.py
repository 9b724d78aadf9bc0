"""What may a site be called, and how is it said? A site is where a worker has to stand to reach a node; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

LONGEST = 20
NOWHERE = ""
"""The one site of a small installation has no name."""
_SITE = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")


def read_site(text: str) -> str:
    """A site's name; ValueError says what one looks like."""
    if _SITE.fullmatch(text) is None:
        raise ValueError(
            f"{text[:60]!r} is not a site's name (small letters, digits, hyphens, at most {LONGEST})"
        )
    return text


def say_site(site: str) -> str:
    """`site north`, or words for the one that has no name."""
    return f"site {site}" if site else "the site without a name"


def say_sites(sites: Collection[str]) -> str:
    """`north, south and the site without a name`."""
    words = [
        *sorted(site for site in sites if site),
        *(["the site without a name"] if NOWHERE in sites else []),
    ]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def racks_in_two(places: Iterable[tuple[str, str, str]]) -> Mapping[str, tuple[str, str]]:
    """Racks that would stand at two sites: name -> a node at each. `places` are (rack, site, node).

    A rack means "close to each other" to placement, so one name can't be used at two sites.
    """
    first: dict[str, tuple[str, str]] = {}
    torn: dict[str, tuple[str, str]] = {}
    for rack, site, node in places:
        known = first.setdefault(rack, (site, node))
        if rack and known[0] != site:
            torn.setdefault(rack, (known[1], node))
    return torn
