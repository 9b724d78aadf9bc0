"""The search for API clients: the best of everything, and every ticket that holds the words in keyset pages."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, UnknownParameter
from requests_app.search.queries import newest, search, tidy
from requests_app.tickets.api_shapes import TicketOutput
from requests_app.tickets.models import Ticket

SCOPES = {"GET": "requests:read"}
Q = OpenApiParameter(
    "q", str, required=True, description='Words, `"a phrase"`, `or`, `-not`; or `T-12`, `C-1`.'
)


class HitOutput(serializers.Serializer[Any]):
    """Something found."""

    kind = serializers.CharField()
    title = serializers.CharField()
    ref = serializers.CharField()
    says = serializers.CharField()
    state = serializers.CharField()
    url = serializers.CharField()


class FoundOutput(serializers.Serializer[Any]):
    """The best fifty; `guessed` when nothing fits as written and these are near."""

    guessed = serializers.BooleanField()
    hits = HitOutput(many=True)


def _words(request: Request) -> str:
    words = tidy(request.query_params.get("q", ""))
    if not words:
        raise Invalid({"q": ["Say what to look for."]})
    return words


class Search(APIView):
    """Requests, offerings, clusters and nodes that the caller may see."""

    required_scopes = SCOPES

    @extend_schema(operation_id="search", parameters=[Q], responses=FoundOutput)
    def get(self, request: Request) -> Response:
        """The best of everything."""
        unknown = set(request.query_params) - {"q", "format"}
        if unknown:
            raise UnknownParameter({name: ["There is no such parameter here."] for name in sorted(unknown)})
        return Response(FoundOutput(search(signed_in(request), _words(request))).data)


class SearchTickets(generics.ListAPIView[Ticket]):
    """Every ticket that holds the words."""

    serializer_class = TicketOutput
    required_scopes = SCOPES
    allowed_filters = frozenset({"q"})
    queryset = Ticket.objects.none()

    def get_queryset(self) -> QuerySet[Ticket]:
        """Scoped, then searched."""
        return newest(signed_in(self.request), _words(self.request))

    @extend_schema(operation_id="search_tickets", parameters=[Q])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of tickets, newest first."""
        return super().get(request, *args, **kwargs)


urlpatterns = [
    path("search", Search.as_view(), name="search"),
    path("search/tickets", SearchTickets.as_view(), name="search-tickets"),
]
