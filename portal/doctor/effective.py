"""Which settings does the portal run with, said without giving a secret away?"""

from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from portal.config import PREFIX, Config

HIDDEN = "****"


@dataclass(frozen=True)
class Effective:
    """One setting as it is in force."""

    variable: str
    value: str
    is_default: bool
    says: str


def effective(config: Config) -> Iterator[Effective]:
    for entry in fields(config):
        if not entry.metadata:
            continue
        value = getattr(config, entry.name)
        yield Effective(
            variable=PREFIX + entry.name.upper(),
            value=shown(value, secret=_is_secret(entry)),
            is_default=value == entry.default,
            says=entry.metadata["says"],
        )


def _is_secret(entry: "Field[Any]") -> bool:
    return bool(entry.metadata["secret"])


def shown(value: object, *, secret: bool) -> str:
    """As text; of a secret only what says where it leads."""
    if value is None:
        return "(not set)"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "(empty)"
    return masked(str(value)) if secret else str(value)


def masked(text: str) -> str:
    """A URL keeps its scheme, host and path; everything else is hidden, the query too (it may hold a password)."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return HIDDEN
    if not parts.scheme or "://" not in text:
        return HIDDEN
    user, at, place = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    hidden = f"{name}{colon}{HIDDEN if colon else ''}{at}{place}"
    return urlunsplit((parts.scheme, hidden, parts.path, HIDDEN if parts.query else "", ""))
