"""How does a refusal look on a page, and in which zone are times? PortalError becomes one readable page or fragment."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from asgiref.sync import iscoroutinefunction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from portal.api.errors import CONTENT_TYPE, shape
from portal.kernel.errors import NotFound, PortalError
from portal.shell.conflicts import conflict_of


class in_their_time_zone:  # noqa: N801 - settings name middlewares like functions
    """Middleware: pages show times in the zone of who reads them; the API always says UTC."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/api/"):
            return self.get_response(request)
        zone = getattr(request.user, "time_zone", "")
        with timezone.override(_zone(zone) if zone else None):
            return self.get_response(request)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):  # the system's zone data has lost it
        return None


class errors_as_pages:  # noqa: N801 - settings name middlewares like functions
    """Middleware: a PortalError that a view let through becomes a page with its words and its status."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if iscoroutinefunction(get_response):  # pragma: no cover - Django adapts for us
            raise TypeError("this middleware is synchronous")
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Say a PortalError; leave everything else to Django."""
        if isinstance(problem, NotFound):
            raise Http404(problem.message) from problem
        if not isinstance(problem, PortalError):
            return None
        template = "parts/problem.html#notice" if getattr(request, "htmx", None) else "parts/problem.html"
        context = {
            "problem": problem,
            "phrase": HTTPStatus(problem.status).phrase,
            "conflict": conflict_of(request, problem),
        }
        response = render(request, template, context, status=problem.status)
        if getattr(request, "htmx", None) and request.htmx.target == "work":  # type: ignore[attr-defined]
            response["HX-Reswap"] = (
                "afterbegin show:top"  # a refusal comes above the page's work, not in its place
            )
        return response


class refuse_nul:  # noqa: N801 - settings name middlewares like functions
    """Middleware: an address with a NUL in it is damaged; PostgreSQL can't hold one, so nothing could match."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """400 before any view reads the address."""
        if "\0" in request.path or any(
            "\0" in text for pair in request.GET.lists() for text in (pair[0], *pair[1])
        ):
            return _damaged(request)
        return self.get_response(request)


def _damaged(request: HttpRequest) -> HttpResponse:
    said = "The address holds a NUL character; nothing can be looked up by it."
    if request.path.startswith("/api/"):
        return JsonResponse(shape(400, "damaged-address", said), status=400, content_type=CONTENT_TYPE)
    return HttpResponse(said, status=400, content_type="text/plain; charset=utf-8")
