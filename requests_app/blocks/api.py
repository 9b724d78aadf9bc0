"""Blocks for API clients: say, correct, confirm, measure, and what is owed on a day; the same services as the pages."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed, NotFound
from portal.kernel.parameters import refuse_unknown
from requests_app.blocks import api_shapes as shapes
from requests_app.blocks import commitments, rules, services, telemetry
from requests_app.blocks.models import BlockInterval, Commitment
from requests_app.blocks.queries import lost_gpu_hours, lost_people_hours, readings_of
from requests_app.tickets.api_shapes import BlockInput, NothingInput, Plain
from requests_app.tickets.models import Ticket

SCOPES = {"GET": "requests:read", "POST": "requests:write"}
MOST_BLOCKS = 200


def _ticket(request: Request, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


def _read(shape: type[Plain], request: Request) -> dict[str, Any]:
    """What was sent, in shape; a field that the shape doesn't have is refused, not ignored."""
    given = shape(data=request.data)
    if isinstance(request.data, dict):
        unknown = [str(name)[:60] for name in request.data if name not in given.fields]
        if unknown:
            raise Invalid({name: ["There is no such field."] for name in unknown})
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def blocks_of(ticket: Ticket) -> list[dict[str, Any]]:
    """Every interval of a ticket with what it cost, latest first, in a constant number of queries."""
    at = now()
    rows = ticket.blocks.select_related("claimed_by", "ended_by", "confirmed_by").prefetch_related(
        "amendments", "persons__user"
    )
    readings = readings_of([ticket.pk]).get(ticket.pk, ())
    found = []
    for block in rows[:MOST_BLOCKS]:
        shown = dict(shapes.BlockOutput(block).data)
        shown["lost_gpu_hours"] = round(lost_gpu_hours(block, at, readings), 2)
        shown["lost_people_hours"] = round(lost_people_hours(block, at), 2)
        found.append(shown)
    return found


class TicketView(APIView):
    """Something about the blocks of one ticket that the caller may see."""

    required_scopes = SCOPES

    def blocks(self, request: Request, ref: str, *, status: int = 200) -> Response:
        """The blocks as they stand now, with the ticket's version."""
        ticket = _ticket(request, ref)
        return Response({"version": ticket.version, "blocks": blocks_of(ticket)}, status=status)


class Blocks(TicketView):
    """A ticket's intervals."""

    @extend_schema(operation_id="list_blocks", responses=shapes.BlocksOutput)
    def get(self, request: Request, ref: str) -> Response:
        """Every interval, latest first, with what it has cost until now."""
        refuse_unknown(request.query_params)
        return self.blocks(request, ref)

    @extend_schema(operation_id="open_block", request=BlockInput, responses={201: shapes.BlocksOutput})
    def post(self, request: Request, ref: str) -> Response:
        """Say that the team is blocked."""
        ticket, person = _ticket(request, ref), signed_in(request)
        claim = _claim(ticket, _read(BlockInput, request), person)
        services.open_block(ticket=ticket, claim=claim, by=person)
        return self.blocks(request, ref, status=201)


def _claim(ticket: Ticket, given: dict[str, Any], by: User) -> services.BlockClaim:
    if not by.belongs_to(ticket.team):
        raise NotAllowed(f"Only members of {ticket.team.name} say that it is blocked.")
    complaints = rules.complaints(given, now=now())
    if complaints:
        raise Invalid(complaints)
    return services.BlockClaim(**given)


class Amend(TicketView):
    """Correcting the facts of the open block."""

    @extend_schema(operation_id="amend_block", request=shapes.AmendInput, responses=shapes.BlocksOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Correct people, GPUs, resource and what; what they were is kept. Since when stays."""
        ticket, person = _ticket(request, ref), signed_in(request)
        given = _read(shapes.AmendInput, request)
        version = given.pop("version")
        claim = _claim(ticket, {**given, "since": now()}, person)
        services.amend_block(ticket=ticket, version=version, claim=claim, by=person)
        return self.blocks(request, ref)


class Speak(TicketView):
    """A person's own word."""

    @extend_schema(operation_id="confirm_blocked", request=shapes.SpeakInput, responses=shapes.BlocksOutput)
    def post(self, request: Request, ref: str) -> Response:
        """`yes`: I can't work because of this; `half`: at half speed; `no`: I can work."""
        ticket, person = _ticket(request, ref), signed_in(request)
        answer = _read(shapes.SpeakInput, request)["answer"]
        if answer == "no":
            services.refuse_person(ticket=ticket, by=person)
        else:
            services.confirm_person(ticket=ticket, half=answer == "half", by=person)
        return self.blocks(request, ref)


class Found(TicketView):
    """The desk's word."""

    required_scopes = {"POST": "triage:write"}

    @extend_schema(operation_id="find_blocked", request=NothingInput, responses=shapes.BlocksOutput)
    def post(self, request: Request, ref: str) -> Response:
        """An infra person looked and found it so: the claim counts 80 %."""
        ticket = _ticket(request, ref)
        _read(NothingInput, request)
        services.find_blocked(ticket=ticket, by=signed_in(request))
        return self.blocks(request, ref)


class IdleReadings(TicketView):
    """What machines measure."""

    required_scopes = {"POST": "telemetry:write"}

    @extend_schema(
        operation_id="report_idle", request=shapes.ReadingInput, responses={201: shapes.ReadingOutput}
    )
    def post(self, request: Request, ref: str) -> Response:
        """Report idle GPUs of a blocked team. `key` makes it happen once; `busy_since` ends the block."""
        ticket, given = _ticket(request, ref), _read(shapes.ReadingInput, request)
        made = telemetry.report_idle(ticket=ticket, reading=telemetry.Reading(**given), by=signed_in(request))
        ended = not BlockInterval.objects.filter(ticket=ticket, ended_at=None).exists()
        body = {"key": made.key, "at": made.at, "idle_gpus": made.idle_gpus, "is_blocked": not ended}
        return Response(body, status=201)


class Commitments(TicketView):
    """What a team owes on a day."""

    @extend_schema(operation_id="list_commitments", responses=shapes.CommitmentOutput(many=True))
    def get(self, request: Request, ref: str) -> Response:
        """All that are not taken back, soonest first."""
        refuse_unknown(request.query_params)
        rows = _ticket(request, ref).commitments.filter(dropped_at=None).select_related("sponsor")
        return Response(shapes.CommitmentOutput(rows[:MOST_BLOCKS], many=True).data)

    @extend_schema(
        operation_id="make_commitment",
        request=shapes.CommitmentInput,
        responses={201: shapes.CommitmentOutput},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Say what is owed; it counts when its sponsor has said yes."""
        ticket, given = _ticket(request, ref), _read(shapes.CommitmentInput, request)
        made = commitments.commit(ticket=ticket, owed=commitments.Owed(**given), by=signed_in(request))
        return Response(shapes.CommitmentOutput(made).data, status=201)


class CommitmentDoing(APIView):
    """Something that is done with one commitment."""

    required_scopes = SCOPES

    def commitment(self, request: Request, number: int) -> Commitment:
        """The commitment, if the caller may see it."""
        found = Commitment.objects.visible_to(signed_in(request)).filter(pk=number).first()
        if found is None:
            raise NotFound("There is no such commitment.")
        return found


class Vouch(CommitmentDoing):
    """The sponsor's yes."""

    @extend_schema(operation_id="confirm_commitment", request=NothingInput, responses=shapes.CommitmentOutput)
    def post(self, request: Request, number: int) -> Response:
        """Vouch for it; twice does no harm."""
        found = self.commitment(request, number)
        _read(NothingInput, request)
        done = commitments.confirm_commitment(commitment=found, by=signed_in(request))
        return Response(shapes.CommitmentOutput(done).data)


class Drop(CommitmentDoing):
    """Taking it back."""

    @extend_schema(operation_id="drop_commitment", request=NothingInput, responses=shapes.CommitmentOutput)
    def post(self, request: Request, number: int) -> Response:
        """The team, or the sponsor; it counts no more."""
        found = self.commitment(request, number)
        _read(NothingInput, request)
        done = commitments.drop_commitment(commitment=found, by=signed_in(request))
        return Response(shapes.CommitmentOutput(done).data)


urlpatterns = [
    path("tickets/<str:ref>/blocks", Blocks.as_view(), name="ticket-blocks"),
    path("tickets/<str:ref>/blocks/amend", Amend.as_view(), name="ticket-blocks-amend"),
    path("tickets/<str:ref>/blocks/me", Speak.as_view(), name="ticket-blocks-me"),
    path("tickets/<str:ref>/blocks/found", Found.as_view(), name="ticket-blocks-found"),
    path("tickets/<str:ref>/idle-readings", IdleReadings.as_view(), name="ticket-idle-readings"),
    path("tickets/<str:ref>/commitments", Commitments.as_view(), name="ticket-commitments"),
    path("commitments/<int:number>/confirm", Vouch.as_view(), name="commitment-confirm"),
    path("commitments/<int:number>/drop", Drop.as_view(), name="commitment-drop"),
]
