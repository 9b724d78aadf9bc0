"""Whole page or only the changed part, and where to next? The one place that knows htmx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme


def is_fragment(request: HttpRequest) -> bool:
    """True for an htmx request that wants a part, not for a boosted link or a restored history entry."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    partial: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page, or its named partial when htmx asks for it. The URL works either way."""
    name = f"{template}#{partial}" if partial and is_fragment(request) else template
    response = render(request, name, dict(context), status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def safe_next(request: HttpRequest) -> str:
    """Where the form or the address said to go next, if that is on this portal; otherwise the front door."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else "/"
