"""What may we hold, and what do we hold? A team's quotas, in GPUs."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from requests_app.quotas.models import Quota


@require_GET
@login_required
def quotas(request: HttpRequest) -> HttpResponse:
    """Quotas of the person's teams; of all teams for infra staff."""
    rows = Quota.objects.visible_to(request.user).select_related("team")
    wanted = request.GET.get("team", "")
    if wanted:
        rows = rows.filter(team__slug=wanted)
    page = page_of(rows, order=("id",), cursor=request.GET.get("cursor", ""), scope=wanted)
    context = {"page": page, "team": wanted, **pager_links(request, page)}
    return render_page(request, "requests_app/quotas/list.html", context, partial="rows")
