"""One page to find anything, and the same answers for the palette; nobody finds what they may not see."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import UnknownParameter
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import is_fragment, render_page
from requests_app.search.queries import Found, newest, search, ticket_hit, tidy
from requests_app.search.verbs import verbs_for

KNOWN = frozenset({"q", "order", "cursor", "palette", "about"})
PALETTE = 12


@require_GET
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """`?q=` finds the best; `order=newest` pages through every request that holds the words."""
    unknown = sorted(set(request.GET) - KNOWN)
    if unknown:
        raise UnknownParameter({name: ["There is no such parameter here."] for name in unknown})
    q, person = tidy(request.GET.get("q", "")), signed_in(request)
    if request.GET.get("palette") and is_fragment(request):
        verbs = verbs_for(person, q, about=request.GET.get("about", ""))
        hits = [*verbs, *search(person, q, limit=PALETTE).hits]
        context = {"q": q, "found": Found(hits=hits[:PALETTE])}
        return render_page(request, "requests_app/search/hits.html", context)
    if request.GET.get("order") == "newest" and q:
        rows = page_of(
            newest(person, q), order=("-id",), cursor=request.GET.get("cursor", ""), scope=f"search|{q}"
        )
        hits = [ticket_hit(row) for row in rows.rows]
        context = {"q": q, "newest": True, "hits": hits, **pager_links(request, rows)}
    else:
        context = {"q": q, "found": search(person, q)}
    return render_page(request, "requests_app/search/page.html", context, partial="found")
