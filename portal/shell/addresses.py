"""Where is the page of what a ref names?"""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse

_PAGES = {
    "T": "tickets:detail",
    "O": "orders:detail",
    "C": "clusters:detail",
    "J": "jobs:detail",
    "W": "workarounds:show",
    "R": "debt:project",
}


def page_of(ref: str) -> str:
    """Its path, as `/tickets/T-12/`; "" for what has no page."""
    try:
        return reverse(_PAGES[ref[:1]], args=[ref])
    except (KeyError, NoReverseMatch):
        return ""
