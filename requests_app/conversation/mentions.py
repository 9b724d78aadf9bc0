"""Which people, requests and addresses does a text name? Pure: names are candidates, who may read the text is asked elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from markdown_it import MarkdownIt

MOST_MENTIONS = 20
_NAMED = re.compile(
    r"(?P<url>https?://[^\s<>\"'`]+)"
    r"|(?<![\w@./+-])@(?P<person>[A-Za-z0-9_](?:[\w.+-]{0,148}\w)?)"
    r"|(?<![\w/-])(?P<ref>T-[1-9][0-9]{0,11})(?![\w-])",
    re.ASCII,
)
_reader = MarkdownIt("commonmark", {"html": False, "linkify": False})


class Named(StrEnum):
    """What a piece of a text is."""

    TEXT = "text"
    URL = "url"
    PERSON = "person"
    REF = "ref"


@dataclass(frozen=True)
class Piece:
    """A stretch of plain text; of a person it is the user name without `@`."""

    kind: Named
    text: str


def pieces(text: str) -> Iterator[Piece]:
    """`text` cut into what it names; put together again it is the same text."""
    end = 0
    for match in _NAMED.finditer(text):
        kind = Named(str(match.lastgroup))
        said = match[kind]
        rest = ""
        if kind is Named.URL:
            said, rest = _without_full_stop(said)
        if match.start() > end:
            yield Piece(Named.TEXT, text[end : match.start()])
        yield Piece(kind, said)
        end = match.end() - len(rest)
    if end < len(text):
        yield Piece(Named.TEXT, text[end:])


def _without_full_stop(url: str) -> tuple[str, str]:
    """A sentence's punctuation isn't part of the address; a closing bracket is, if it was opened in it."""
    kept = url.rstrip(".,;:!?*_~")
    if kept.endswith(")") and kept.count("(") < kept.count(")"):
        kept = kept[:-1]
    return (kept, url[len(kept) :]) if "//" in kept and len(kept) > len("https://") else (url, "")


def names_in(markdown: str) -> tuple[str, ...]:
    """User names that `markdown` mentions as `@name`, each once, in order; not in code and not in links."""
    found: dict[str, None] = {}
    for token in _reader.parse(markdown):
        depth = 0
        for child in token.children or ():
            depth += child.nesting if child.type in ("link_open", "link_close") else 0
            if child.type == "text" and depth == 0:
                found.update(
                    (piece.text, None) for piece in pieces(child.content) if piece.kind is Named.PERSON
                )
    return tuple(found)[:MOST_MENTIONS]
