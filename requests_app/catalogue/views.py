"""The catalogue as people see it: shelves by pillar, found by words."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from portal.kernel.pages import render_page
from requests_app.catalogue.queries import PILLAR_TITLES, searchable, shelves


@require_GET
@login_required
def catalogue(request: HttpRequest) -> HttpResponse:
    """`?search=` and `?pillar=` narrow it; an unknown pillar has nothing."""
    text, pillar = searchable(request.GET.get("search", "")), request.GET.get("pillar", "")
    context = {
        "shelves": shelves(request.user, text=text, pillar=pillar),
        "pillars": PILLAR_TITLES,
        "search": text,
        "pillar": pillar,
    }
    return render_page(request, "requests_app/catalogue/list.html", context, partial="shelves")
