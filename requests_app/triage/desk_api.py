"""The desk for API clients: claim, give, snooze, and the views that are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotAllowed
from requests_app.tickets.models import Ticket
from requests_app.triage import saved_views
from requests_app.triage.api import DecisionView, Outcome
from requests_app.triage.claiming import assign_ticket, claim_next
from requests_app.triage.models import SavedView
from requests_app.triage.snoozing import snooze_ticket, wake_ticket

SCOPES = {"GET": "requests:read", "POST": "triage:write", "DELETE": "triage:write"}


class Nothing(serializers.Serializer[Any]):
    """An empty object."""


class ClaimNext(APIView):
    """The most urgent ticket that nobody has."""

    required_scopes = SCOPES

    @extend_schema(operation_id="claim_next_ticket", request=Nothing, responses={200: Outcome, 204: None})
    def post(self, request: Request) -> Response:
        """Take it; 204 when nobody waits. Two callers never get one ticket."""
        ticket = claim_next(by=signed_in(request))
        return Response(status=204) if ticket is None else Response(Outcome(ticket).data)


class Assign(DecisionView):
    """Put a ticket on somebody's desk."""

    class AssignInput(serializers.Serializer[Any]):
        """A triager's user name; null puts it on nobody's desk."""

        version = serializers.IntegerField(min_value=1, required=False)
        assignee = serializers.CharField(max_length=150, allow_null=True)

    @extend_schema(operation_id="assign_ticket", request=AssignInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Give it."""
        return self.handle(request, ref, self.AssignInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        name = data["assignee"]
        to = None if name is None else User.objects.filter(username=name, is_active=True).first()
        if name is not None and to is None:
            raise Invalid({"assignee": ["There is no such person."]})
        return assign_ticket(ticket=ticket, version=data["version"], to=to, by=by)


class Snooze(DecisionView):
    """Take a ticket off the inbox for a while."""

    class SnoozeInput(serializers.Serializer[Any]):
        """Without `until` it sleeps until somebody else says something."""

        version = serializers.IntegerField(min_value=1, required=False)
        until = serializers.DateTimeField(required=False, allow_null=True)
        reason = serializers.CharField(max_length=200, required=False, allow_blank=True)

    @extend_schema(operation_id="snooze_ticket", request=SnoozeInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Snooze; it comes back by itself."""
        return self.handle(request, ref, self.SnoozeInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        until: datetime | None = data.pop("until", None)
        return snooze_ticket(ticket=ticket, until=until, **data, by=by)


class WakeUp(DecisionView):
    """Bring a ticket back before its time."""

    class WakeInput(serializers.Serializer[Any]):
        """The version that was looked at."""

        version = serializers.IntegerField(min_value=1, required=False)

    @extend_schema(operation_id="wake_ticket", request=WakeInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Wake."""
        return self.handle(request, ref, self.WakeInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        return wake_ticket(ticket=ticket, version=data["version"], by=by)


class ViewOutput(serializers.ModelSerializer[SavedView]):
    """Filters of the desk under a name."""

    owner = serializers.CharField(source="owner.username")
    filters = serializers.DictField(child=serializers.CharField())

    class Meta:
        model = SavedView
        fields = ("id", "name", "owner", "shared", "filters")
        read_only_fields = fields


class ViewInput(serializers.Serializer[Any]):
    """Names of filters as the desk's address has them; unknown ones are refused with 400."""

    name = serializers.CharField(max_length=60)
    filters = serializers.DictField(child=serializers.CharField(max_length=200, allow_blank=True))
    shared = serializers.BooleanField(required=False, default=False)


class Views(generics.ListAPIView[SavedView]):
    """One's own views and those the desk shares."""

    serializer_class = ViewOutput
    required_scopes = SCOPES
    page_order = ("id",)
    queryset = SavedView.objects.none()

    def get_queryset(self) -> QuerySet[SavedView]:
        """Scoped."""
        return SavedView.objects.visible_to(signed_in(self.request)).select_related("owner")

    @extend_schema(operation_id="list_desk_views")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of views."""
        return super().get(request, *args, **kwargs)

    @extend_schema(operation_id="save_desk_view", request=ViewInput, responses={201: ViewOutput})
    def post(self, request: Request) -> Response:
        """Keep filters under a name; one's own of the same name is written over."""
        person = signed_in(request)
        if not person.is_infra:
            raise NotAllowed("Only infra people have a desk.")
        given = ViewInput(data=request.data)
        given.is_valid(raise_exception=True)
        row = saved_views.save_view(**given.validated_data, by=person)
        return Response(ViewOutput(row).data, status=201)


class ViewOne(APIView):
    """One view."""

    required_scopes = SCOPES

    @extend_schema(operation_id="drop_desk_view", request=None, responses={204: None})
    def delete(self, request: Request, number: int) -> Response:
        """Throw it away."""
        saved_views.drop_view(number=number, by=signed_in(request))
        return Response(status=204)


urlpatterns = [
    path("desk/next", ClaimNext.as_view(), name="desk-next"),
    path("desk/views", Views.as_view(), name="desk-views"),
    path("desk/views/<int:number>", ViewOne.as_view(), name="desk-view"),
    path("tickets/<str:ref>/assign", Assign.as_view(), name="ticket-assign"),
    path("tickets/<str:ref>/snooze", Snooze.as_view(), name="ticket-snooze"),
    path("tickets/<str:ref>/wake", WakeUp.as_view(), name="ticket-wake"),
]
