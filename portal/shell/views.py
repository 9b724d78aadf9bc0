"""The door itself: where a visitor is led, whether the house stands, its theme and its pattern page."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.kernel.pages import render_page, safe_next
from portal.shell import patterns
from portal.shell.theme import THEMES, remember_theme


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Infra people start at their desk, everybody else at their requests."""
    return redirect("desk:queue" if getattr(request.user, "is_triager", False) else "tickets:list")


@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when this process reaches its database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme and go back to where the person was."""
    response = redirect(safe_next(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        remember_theme(response, chosen, secure=settings.SESSION_COOKIE_SECURE)
    return response


@require_GET
@login_required
def looks(request: HttpRequest) -> HttpResponse:
    """Every part of the portal's look on one page, alive."""
    return render_page(request, "portal/shell/looks.html", patterns.examples())
