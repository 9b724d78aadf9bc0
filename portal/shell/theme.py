"""Light, dark or as the system says? A cookie, rendered into the page by the server so that nothing flashes."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

COOKIE = "theme"
THEMES = {"auto": "System", "light": "Light", "dark": "Dark"}
_YEAR = 365 * 24 * 3600


def theme_of(request: HttpRequest) -> str:
    """The chosen theme; anything the cookie says that isn't one is `auto`."""
    chosen = request.COOKIES.get(COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"


def remember_theme(response: HttpResponse, theme: str, *, secure: bool) -> None:
    """Keep `theme` for a year in this browser."""
    response.set_cookie(COOKIE, theme, max_age=_YEAR, secure=secure, httponly=True, samesite="Lax")
