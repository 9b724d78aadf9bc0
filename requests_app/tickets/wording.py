"""What may people say in one field of a ticket? Tidied, not too long, and nothing that can't be seen."""

from __future__ import annotations

from portal.kernel.errors import Invalid
from requests_app.catalogue import texts


def text_of(
    name: str,
    text: str,
    *,
    needed: bool = True,
    limit: int = texts.LONG,
    lines: bool = True,
    missing: str = "Say it in a sentence.",
) -> str:
    """A tidy text of one field; Invalid when it is missing, longer than `limit` or holds what can't be seen."""
    tidy = texts.tidy(text, limit=limit)
    said = texts.complaint(tidy, limit=limit, lines=lines)
    if said is None and needed and not tidy:
        said = missing
    if said is not None:
        raise Invalid({name: [said]})
    return tidy
