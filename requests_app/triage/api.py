"""Decisions for API clients: the same services, the same refusals."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import User
from portal.kernel.versions import etag_of
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.seen import seen_by
from requests_app.triage import services
from requests_app.triage.reasons import REASONS


class Outcome(serializers.Serializer[Any]):
    """Where the ticket stands after a decision."""

    ref = serializers.CharField()
    state = serializers.CharField(source="status")
    version = serializers.IntegerField()


class DecisionView(APIView):
    """One decision on one ticket that the caller may see."""

    required_scopes = {"POST": "triage:write"}

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """What this view decides."""
        raise NotImplementedError

    def handle(self, request: Request, ref: str, shape: type[serializers.Serializer[Any]]) -> Response:
        """Read, decide, and say where the ticket stands."""
        person = request.user
        assert isinstance(person, User)
        ticket = Ticket.objects.visible_to(person).by_ref(ref)
        only_triagers(person)
        given = shape(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        data["version"] = seen_by(request, ticket, data)
        done = self.decide(ticket, data, person)
        return Response(Outcome(done).data, headers={"ETag": etag_of(done.version)})


class Approve(DecisionView):
    """Approve a ticket, in full or with less per line."""

    class ApproveInput(serializers.Serializer[Any]):
        """`granted` maps a line's position to a quantity; left out, what was asked is granted."""

        version = serializers.IntegerField(min_value=1, required=False)
        granted = serializers.DictField(child=serializers.IntegerField(min_value=1), required=False)
        note = serializers.CharField(required=False, allow_blank=True, max_length=5000)

    @extend_schema(operation_id="approve_ticket", request=ApproveInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Say yes."""
        return self.handle(request, ref, self.ApproveInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """Positions come as JSON keys, which are text."""
        granted = {int(key): value for key, value in data.pop("granted", {}).items() if key.isdecimal()}
        return services.approve_ticket(ticket=ticket, granted=granted, **data, by=by)


class Decline(DecisionView):
    """Decline a ticket with a reason and the nearest yes."""

    class DeclineInput(serializers.Serializer[Any]):
        """The reason as data and in words."""

        version = serializers.IntegerField(min_value=1, required=False)
        reason_code = serializers.ChoiceField(choices=list(REASONS.items()))
        reason = serializers.CharField(max_length=5000)
        nearest_yes = serializers.CharField(required=False, allow_blank=True, max_length=5000)

    @extend_schema(operation_id="decline_ticket", request=DeclineInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Say no."""
        return self.handle(request, ref, self.DeclineInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        return services.decline_ticket(ticket=ticket, **data, by=by)


class AskBack(DecisionView):
    """Ask the team of a ticket something."""

    class AskBackInput(serializers.Serializer[Any]):
        """The question."""

        version = serializers.IntegerField(min_value=1, required=False)
        question = serializers.CharField(max_length=5000)

    @extend_schema(operation_id="ask_back_ticket", request=AskBackInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Pause the clock and ask."""
        return self.handle(request, ref, self.AskBackInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        return services.ask_back(ticket=ticket, **data, by=by)


class Deliver(DecisionView):
    """Deliver a ticket that people fulfilled."""

    class DeliverInput(serializers.Serializer[Any]):
        """How to use what was made; `positions` names some of the lines that wait for hands, left out it is all."""

        version = serializers.IntegerField(min_value=1, required=False)
        note = serializers.CharField(max_length=5000)
        positions = serializers.ListField(
            child=serializers.IntegerField(min_value=1), required=False, max_length=60
        )

    @extend_schema(operation_id="deliver_ticket", request=DeliverInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Hand over."""
        return self.handle(request, ref, self.DeliverInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        return services.deliver_ticket(ticket=ticket, **data, by=by)


class Take(DecisionView):
    """Take a ticket to one's own desk."""

    class TakeInput(serializers.Serializer[Any]):
        """The version that was looked at."""

        version = serializers.IntegerField(min_value=1, required=False)

    @extend_schema(operation_id="take_ticket", request=TakeInput, responses=Outcome)
    def post(self, request: Request, ref: str) -> Response:
        """Be the one who decides it."""
        return self.handle(request, ref, self.TakeInput)

    def decide(self, ticket: Ticket, data: dict[str, Any], by: User) -> Ticket:
        """As the desk's page does."""
        return services.take_ticket(ticket=ticket, **data, by=by)


urlpatterns = [
    path("tickets/<str:ref>/take", Take.as_view(), name="ticket-take"),
    path("tickets/<str:ref>/approve", Approve.as_view(), name="ticket-approve"),
    path("tickets/<str:ref>/decline", Decline.as_view(), name="ticket-decline"),
    path("tickets/<str:ref>/ask-back", AskBack.as_view(), name="ticket-ask-back"),
    path("tickets/<str:ref>/deliver", Deliver.as_view(), name="ticket-deliver"),
]
