"""How does a long list leave the house? In cursor pages; unknown filters are refused, not ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from portal.kernel.errors import Invalid

OWN_PARAMETERS = frozenset({"cursor", "limit", "format"})


class CursorPages(CursorPagination):
    """Keyset pages: `limit` (1 to 200, 50 when silent) and an opaque `cursor`."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = "-id"

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        """Refuse what the view doesn't know, then cut the page."""
        refuse_unknown_parameters(request, view)
        return super().paginate_queryset(queryset, request, view)

    def get_page_size(self, request: Request) -> int | None:
        """`limit` as a number in range; anything else is said, not guessed."""
        text = request.query_params.get("limit")
        if text is None:
            return self.page_size
        if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= self.max_page_size:
            raise Invalid({"limit": [f"Use a whole number from 1 to {self.max_page_size}."]})
        return int(text)

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: APIView) -> tuple[str, ...]:
        """The order the view names, newest first otherwise; always total by the id."""
        wanted = tuple(getattr(view, "page_order", ("-id",)))
        return wanted if wanted[-1].lstrip("-") == "id" else (*wanted, "id")


def refuse_unknown_parameters(request: Request, view: Any) -> None:
    """422 for a query parameter that the view doesn't list in `allowed_filters`: a typo must not return everything."""
    allowed = OWN_PARAMETERS | set(getattr(view, "allowed_filters", ()))
    unknown = sorted(set(request.query_params) - allowed)
    if unknown:
        known = ", ".join(sorted(allowed - {"format"}))
        raise Invalid({name: [f"There is no such filter here. Known: {known}."] for name in unknown})
