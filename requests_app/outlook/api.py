"""The near future of a ticket for API clients."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from requests_app.clocks.card import row_of
from requests_app.clocks.queries import clocks_of
from requests_app.outlook.queries import outlook_of
from requests_app.tickets.models import Ticket

Plain = serializers.Serializer[Any]


class WhenOutput(Plain):
    """Half of those like it by `early`, nine of ten by `late`; null where only words can be had."""

    says = serializers.CharField()
    early = serializers.DateTimeField(allow_null=True)
    late = serializers.DateTimeField(allow_null=True)


class CostOutput(Plain):
    """Amounts in `currency`, null without a price; GPU-hours always. A month has 730 hours."""

    gpus = serializers.IntegerField()
    a_month = serializers.DecimalField(max_digits=14, decimal_places=0, allow_null=True)
    so_far = serializers.DecimalField(max_digits=14, decimal_places=0, allow_null=True)
    gpu_hours_a_month = serializers.IntegerField()
    gpu_hours_so_far = serializers.IntegerField()
    per_gpu_hour = serializers.DecimalField(max_digits=10, decimal_places=4, allow_null=True)
    currency = serializers.CharField()


class ClockOutput(Plain):
    """One clock. `elapsed_seconds` counts what its goal counts; `paused` says why it stands still, empty when it doesn't."""

    name = serializers.CharField()
    title = serializers.CharField()
    elapsed_seconds = serializers.SerializerMethodField()
    goal = serializers.CharField()
    due_at = serializers.DateTimeField(allow_null=True)
    stopped_at = serializers.DateTimeField(allow_null=True)
    standing = serializers.CharField(source="word")
    paused = serializers.CharField()

    def get_elapsed_seconds(self, row: Any) -> int:
        """Whole seconds."""
        return int(row.elapsed.total_seconds())


class OutlookOutput(Plain):
    """When it may be there, what the team can do meanwhile, what it costs, and the clocks."""

    when = WhenOutput(allow_null=True)
    meanwhile = serializers.ListField(child=serializers.CharField())
    costs = CostOutput(many=True)
    clocks = ClockOutput(many=True)


class OutlookOne(APIView):
    """The near future of one ticket."""

    required_scopes = {"GET": "requests:read"}

    @extend_schema(operation_id="get_ticket_outlook", responses=OutlookOutput)
    def get(self, request: Request, ref: str) -> Response:
        """When, what meanwhile, what it costs, and its clocks."""
        ticket = Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)
        outlook = outlook_of(ticket)
        body = {
            "when": outlook.when,
            "meanwhile": [tip.says for tip in outlook.meanwhile],
            "costs": [cost for _, cost in outlook.costs],
            "clocks": [row_of(reading) for reading in clocks_of(ticket).readings],
        }
        return Response(OutlookOutput(body).data)


urlpatterns = [path("tickets/<str:ref>/outlook", OutlookOne.as_view(), name="ticket-outlook")]
