"""How does an offering's Markdown become HTML? Without raw HTML, and through an allow-list all the same."""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_TAGS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "a", "h3", "h4", "blockquote", "br"}
_reader = MarkdownIt("commonmark", {"html": False, "linkify": False})


def to_html(markdown: str) -> SafeString:
    """Safe HTML of `markdown`."""
    html = nh3.clean(
        _reader.render(markdown), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"https", "mailto"}
    )
    return mark_safe(html)  # noqa: S308 - cleaned by the allow-list above
