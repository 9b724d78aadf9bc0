"""What does the frame of every page need? Navigation by role, the theme, and no query that a page could do without."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from portal.shell.navigation import menu
from portal.shell.theme import theme_of


def frame(request: HttpRequest) -> dict[str, Any]:
    """Names every template may use. The menu is made when a template asks for it: fragments don't."""
    user = getattr(request, "user", None)
    return {
        "is_infra": getattr(user, "is_infra", False),
        "theme": theme_of(request),
        "menu": SimpleLazyObject(lambda: menu(user, request.path)) if user is not None else (),
    }
