"""How requests belong together, for API clients."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from requests_app.relations import services
from requests_app.relations.queries import Relations, relation_of, relations_of
from requests_app.relations.rules import BY_HAND, FORWARDS
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.seen import seen_by

SCOPES = {"GET": "requests:read", "POST": "triage:write", "DELETE": "triage:write"}


class RelatedOutput(serializers.Serializer[Any]):
    """One relation, read from the ticket that was asked about."""

    id = serializers.IntegerField(source="pk")
    says = serializers.CharField()
    ref = serializers.CharField(source="ticket.ref")
    title = serializers.CharField(source="ticket.title")
    state = serializers.CharField(source="ticket.status")


class RelationsOutput(serializers.Serializer[Any]):
    """All that the caller may know. `merged_into_state` is said when the request that took it over is another team's."""

    related = RelatedOutput(many=True)
    merged = serializers.SerializerMethodField()
    merged_into = serializers.CharField(source="canonical.ref", default=None, allow_null=True)
    merged_into_state = serializers.CharField(source="elsewhere")

    def get_merged(self, relations: Relations) -> list[str]:
        """Refs of requests that this one took over."""
        return [each.ticket.ref for each in relations.merged]


class RelationInput(serializers.Serializer[Any]):
    """The ticket of the address stands in this relation to `other`."""

    kind = serializers.ChoiceField(choices=[(kind.value, FORWARDS[kind]) for kind in BY_HAND])
    other = serializers.CharField(max_length=24)


class MergeInput(serializers.Serializer[Any]):
    """The ticket that takes this one over."""

    version = serializers.IntegerField(min_value=1, required=False)
    into = serializers.CharField(max_length=24)


class MergeOutput(serializers.Serializer[Any]):
    """Where the ticket stands after it."""

    ref = serializers.CharField()
    state = serializers.CharField(source="status")
    version = serializers.IntegerField()
    merged_into = serializers.CharField(source="merged_into.ref", allow_null=True)


def _ticket(person: User, ref: str) -> Ticket:
    return Ticket.objects.visible_to(person).by_ref(ref)


def _triager(request: Request, ref: str) -> tuple[User, Ticket]:
    """404 before 403, so that nothing is told to strangers."""
    person = signed_in(request)
    ticket = _ticket(person, ref)
    only_triagers(person, services.DESK)
    return person, ticket


class TicketRelations(APIView):
    """What belongs to a ticket."""

    required_scopes = SCOPES

    @extend_schema(operation_id="list_relations", responses=RelationsOutput)
    def get(self, request: Request, ref: str) -> Response:
        """Relations and duplicates, as far as the caller may see the other end."""
        person = signed_in(request)
        return Response(RelationsOutput(relations_of(_ticket(person, ref), person)).data)

    @extend_schema(operation_id="relate_ticket", request=RelationInput, responses={201: RelationsOutput})
    def post(self, request: Request, ref: str) -> Response:
        """Relate two tickets; a circle is refused."""
        person, ticket = _triager(request, ref)
        given = RelationInput(data=request.data)
        given.is_valid(raise_exception=True)
        other = _ticket(person, given.validated_data["other"])
        services.relate(ticket=ticket, kind=given.validated_data["kind"], other=other, by=person)
        return Response(RelationsOutput(relations_of(ticket, person)).data, status=201)


class TicketRelation(APIView):
    """One relation of a ticket."""

    required_scopes = SCOPES

    @extend_schema(operation_id="end_relation", request=None, responses={204: None})
    def delete(self, request: Request, ref: str, number: int) -> Response:
        """Take it away."""
        person, ticket = _triager(request, ref)
        relation = relation_of(ticket, number, person)
        services.unrelate(relation=relation, by=person)
        return Response(status=204)


class Merge(APIView):
    """Letting one ticket take another over."""

    required_scopes = SCOPES

    @extend_schema(operation_id="merge_ticket", request=MergeInput, responses=MergeOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Merge the ticket of the address into `into`."""
        person, ticket = _triager(request, ref)
        given = MergeInput(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        into = _ticket(person, data["into"])
        version = seen_by(request, ticket, data)
        done = services.merge_ticket(ticket=ticket, version=version, into=into, by=person)
        return Response(MergeOutput(done).data)


urlpatterns = [
    path("tickets/<str:ref>/relations", TicketRelations.as_view(), name="ticket-relations"),
    path("tickets/<str:ref>/relations/<int:number>", TicketRelation.as_view(), name="ticket-relation"),
    path("tickets/<str:ref>/merge", Merge.as_view(), name="ticket-merge"),
]
