"""Tickets for API clients: file, list, look, and do what the page does, through the same services."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import Team, User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.versions import etag_of
from requests_app.catalogue.queries import offering_by_slug
from requests_app.tickets import api_shapes as shapes
from requests_app.tickets import services
from requests_app.tickets.models import Ticket, TicketQuerySet
from requests_app.tickets.queries import FILTERS, find_tickets, ticket_view
from requests_app.tickets.seen import seen_by

SCOPES = {"GET": "requests:read", "POST": "requests:write"}


def _ticket(request: Request, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


def read_shape(shape: type[shapes.Plain], request: Request) -> dict[str, Any]:
    """What was sent, in shape; a field that the shape doesn't have is refused, not ignored."""
    given = shape(data=request.data)
    if isinstance(request.data, dict):
        unknown = [str(name)[:60] for name in request.data if name not in given.fields]
        if unknown:
            raise Invalid({name: ["There is no such field."] for name in unknown})
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header, quoted as the draft standard wants it or plain."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    key = key.strip()
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


class Tickets(generics.ListAPIView[Ticket]):
    """Tickets the caller may see, and the filing of new ones."""

    serializer_class = shapes.TicketOutput
    required_scopes = SCOPES
    allowed_filters = FILTERS
    queryset = Ticket.objects.none()

    def get_queryset(self) -> TicketQuerySet:
        """Scoped, then narrowed."""
        given = self.request.query_params
        mine = given.get("mine", "false")
        if mine not in ("true", "false"):
            raise Invalid({"mine": ["Use true or false."]})
        return find_tickets(
            signed_in(self.request),
            state=given.get("state", ""),
            team=given.get("team", ""),
            mine=mine == "true",
            offering=given.get("offering", ""),
        )

    @extend_schema(
        operation_id="list_tickets",
        parameters=[
            OpenApiParameter(
                "state", str, description="A state, or `open`, `ours` (the team has it) or `done`."
            ),
            OpenApiParameter("team", str),
            OpenApiParameter("offering", str),
            OpenApiParameter("mine", bool),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of tickets, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="create_ticket",
        request=shapes.TicketInput,
        responses={201: shapes.WholeTicket},
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                str,
                OpenApiParameter.HEADER,
                description="Sent again with the same body it gives the same ticket; with another body, 422.",
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """File a request."""
        person, given = signed_in(request), read_shape(shapes.TicketInput, request)
        version = offering_by_slug(person, given["offering"]).current
        assert version is not None
        team = Team.objects.visible_to(person).filter(slug=given["team"]).first()
        if team is None:
            raise NotFound("There is no such team of yours.")
        try:
            ticket = services.submit_ticket(
                offering_version=version,
                team=team,
                answers=given["answers"],
                blocked=given.get("blocked"),
                token=idempotency_key(request),
                by=person,
            )
        except Invalid as problem:
            raise _in_answers(problem) from problem
        made = tagged(_ticket(request, ticket.ref), request, status=201)
        made["Location"] = f"{request.path}/{ticket.ref}"
        return made


def _in_answers(problem: Invalid) -> Invalid:
    """The same complaints, where the client wrote what they are about."""
    own = {"token": "Idempotency-Key"}
    fields = {
        own.get(name, name if name.startswith("blocked.") or name == "answers" else f"answers.{name}"): said
        for name, said in problem.fields.items()
    }
    return Invalid(fields, problem.message)


def whole(ticket: Ticket, person: User) -> dict[str, Any]:
    """A ticket with everything about it."""
    detail = shapes.TicketDetail(ticket_view(ticket, person)).data
    return {**shapes.TicketOutput(ticket).data, **detail}


def tagged(ticket: Ticket, request: Request, status: int = 200) -> Response:
    """The whole ticket with the tag of its version, to be sent back as If-Match."""
    body = whole(ticket, signed_in(request))
    return Response(body, status=status, headers={"ETag": etag_of(ticket.version)})


class TicketOne(APIView):
    """One ticket."""

    required_scopes = SCOPES

    @extend_schema(operation_id="get_ticket", responses=shapes.WholeTicket)
    def get(self, request: Request, ref: str) -> Response:
        """With its lines, its order, its story and what the caller may do."""
        return tagged(_ticket(request, ref), request)


class TicketDoing(APIView):
    """Something that is done with one ticket."""

    required_scopes = SCOPES

    def answer(self, request: Request, ref: str) -> Response:
        """The ticket as it stands after it."""
        return tagged(_ticket(request, ref), request)

    def read(self, shape: type[shapes.Plain], request: Request, ticket: Ticket) -> dict[str, Any]:
        """What was sent, with the version that was looked at: If-Match, else the body's."""
        given = read_shape(shape, request)
        return {**given, "version": seen_by(request, ticket, given)}


class Answer(TicketDoing):
    """The team's answer to the desk's question."""

    @extend_schema(operation_id="answer_ticket", request=shapes.AnswerInput, responses=shapes.WholeTicket)
    def post(self, request: Request, ref: str) -> Response:
        """Answer; the ticket's clock goes on."""
        ticket = _ticket(request, ref)
        given = self.read(shapes.AnswerInput, request, ticket)
        services.answer_ticket(ticket=ticket, **given, by=signed_in(request))
        return self.answer(request, ref)


class Withdraw(TicketDoing):
    """Taking a request back."""

    @extend_schema(operation_id="withdraw_ticket", request=shapes.WithdrawInput, responses=shapes.WholeTicket)
    def post(self, request: Request, ref: str) -> Response:
        """Withdraw."""
        ticket = _ticket(request, ref)
        given = self.read(shapes.WithdrawInput, request, ticket)
        services.withdraw_ticket(ticket=ticket, **given, by=signed_in(request))
        return self.answer(request, ref)


class Close(TicketDoing):
    """Saying that what was delivered is good."""

    @extend_schema(operation_id="close_ticket", request=shapes.VersionInput, responses=shapes.WholeTicket)
    def post(self, request: Request, ref: str) -> Response:
        """Close."""
        ticket = _ticket(request, ref)
        given = self.read(shapes.VersionInput, request, ticket)
        services.close_ticket(ticket=ticket, **given, by=signed_in(request))
        return self.answer(request, ref)


class Relief(TicketDoing):
    """Saying that the team can work again."""

    @extend_schema(operation_id="confirm_relief", request=shapes.NothingInput, responses=shapes.WholeTicket)
    def post(self, request: Request, ref: str) -> Response:
        """Confirm; twice does no harm."""
        ticket = _ticket(request, ref)
        read_shape(shapes.NothingInput, request)
        services.confirm_relief(ticket=ticket, by=signed_in(request))
        return self.answer(request, ref)


urlpatterns = [
    path("tickets", Tickets.as_view(), name="tickets"),
    path("tickets/<str:ref>", TicketOne.as_view(), name="ticket"),
    path("tickets/<str:ref>/answer", Answer.as_view(), name="ticket-answer"),
    path("tickets/<str:ref>/withdraw", Withdraw.as_view(), name="ticket-withdraw"),
    path("tickets/<str:ref>/close", Close.as_view(), name="ticket-close"),
    path("tickets/<str:ref>/relief", Relief.as_view(), name="ticket-relief"),
]
