"""How it went, for API clients: say it, and open a ticket again."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.versions import etag_of
from requests_app.outcome import services
from requests_app.outcome.rules import SCALE
from requests_app.tickets.models import Ticket
from requests_app.tickets.seen import seen_by

SCOPES = {"POST": "requests:write"}
LEAST, MOST = SCALE[0], SCALE[-1]


class OutcomeInput(serializers.Serializer[Any]):
    """Satisfaction from 1 (bad) to 5, effort from 1 (hard) to 5 (easy to get what I needed); one of them at least."""

    satisfaction = serializers.IntegerField(min_value=LEAST, max_value=MOST, required=False)
    effort = serializers.IntegerField(min_value=LEAST, max_value=MOST, required=False)
    words = serializers.CharField(max_length=5000, required=False, allow_blank=True)


class OutcomeOutput(serializers.Serializer[Any]):
    """What the caller has said of a ticket."""

    ticket = serializers.CharField(source="ticket.ref")
    satisfaction = serializers.IntegerField(allow_null=True)
    effort = serializers.IntegerField(allow_null=True)
    words = serializers.CharField()
    at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class ReopenInput(serializers.Serializer[Any]):
    """Why it isn't good, and the version that was looked at unless If-Match says it."""

    version = serializers.IntegerField(min_value=1, required=False)
    reason = serializers.CharField(max_length=5000)


class ReopenOutput(serializers.Serializer[Any]):
    """Where the ticket stands now."""

    ref = serializers.CharField()
    state = serializers.CharField(source="status")
    version = serializers.IntegerField()


def _ticket(request: Request, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


class Say(APIView):
    """The caller's own answer; sent again within 14 days it changes."""

    required_scopes = SCOPES

    @extend_schema(operation_id="say_outcome", request=OutcomeInput, responses=OutcomeOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Say how it went."""
        ticket, given = _ticket(request, ref), OutcomeInput(data=request.data)
        given.is_valid(raise_exception=True)
        made = services.say_outcome(ticket=ticket, **given.validated_data, by=signed_in(request))
        return Response(OutcomeOutput(made).data)


class Reopen(APIView):
    """A delivered or closed ticket goes back to the desk and keeps its age."""

    required_scopes = SCOPES

    @extend_schema(operation_id="reopen_ticket", request=ReopenInput, responses=ReopenOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Open it again, with a reason."""
        ticket, given = _ticket(request, ref), ReopenInput(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        data["version"] = seen_by(request, ticket, data)
        done = services.reopen_ticket(ticket=ticket, **data, by=signed_in(request))
        return Response(ReopenOutput(done).data, headers={"ETag": etag_of(done.version)})


urlpatterns = [
    path("tickets/<str:ref>/outcome", Say.as_view(), name="ticket-outcome"),
    path("tickets/<str:ref>/reopen", Reopen.as_view(), name="ticket-reopen"),
]
