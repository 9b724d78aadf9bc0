"""How does a comment's Markdown become HTML? No raw HTML, no images, links that pass nothing on, and an allow-list over all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from requests_app.conversation.mentions import Named, Piece, pieces

_TAGS = {
    *(
        "p",
        "em",
        "strong",
        "del",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "a",
        "h3",
        "blockquote",
        "br",
        "hr",
        "span",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True}).enable(
    ["table", "strikethrough"]
)


def comment_html(markdown: str) -> SafeString:
    """Safe HTML of what a person wrote. Line ends stay line ends; every heading is of one size."""
    tokens = _reader.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"
        if token.children:
            token.children = list(_linked(token.children))
    html = nh3.clean(
        _reader.renderer.render(tokens, _reader.options, {}),
        tags=_TAGS,
        attributes={"a": {"href"}},
        allowed_classes={"span": {"mention"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
    return mark_safe(html)  # noqa: S308 - cleaned by the allow-list above


def _linked(children: Sequence[Token]) -> Iterator[Token]:
    depth = 0
    for child in children:
        if child.type in ("link_open", "link_close"):
            depth += child.nesting
        if child.type == "image":
            yield Token("text", "", 0, content=child.content)  # its words; nothing is fetched from anywhere
        elif child.type != "text" or depth:
            yield child
        else:
            for piece in pieces(child.content):
                yield from _shown(piece)


def _shown(piece: Piece) -> Iterator[Token]:
    if piece.kind is Named.TEXT:
        yield Token("text", "", 0, content=piece.text)
    elif piece.kind is Named.PERSON:  # letters, digits and `_.+-`: nothing to escape
        yield Token("html_inline", "", 0, content=f'<span class="mention">@{piece.text}</span>')
    else:
        address = piece.text if piece.kind is Named.URL else f"/tickets/{piece.text}/"
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield Token("text", "", 0, content=piece.text)
        yield Token("link_close", "a", -1)
