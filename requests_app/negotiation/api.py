"""Offers and promises for API clients: the same services and refusals as on the pages."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from requests_app.negotiation import api_shapes as shapes
from requests_app.negotiation import services
from requests_app.negotiation.due import overdue_promises
from requests_app.negotiation.models import Offer, OfferQuerySet, Promise
from requests_app.tickets.api import read_shape
from requests_app.tickets.models import Ticket
from requests_app.tickets.seen import seen_by

REPLIES = {"POST": "offers:accept"}
DECIDES = {"POST": "triage:write"}


def _ticket(request: Request, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


def _offers(ticket: Ticket) -> OfferQuerySet:
    rows = Offer.objects.filter(ticket=ticket).select_related("ticket", "made_by", "closed_by")
    return rows.prefetch_related("lines__line").order_by("-revision")


def _told(ticket: Ticket, revision: int, *, status: int = 200) -> Response:
    return Response(shapes.OfferOutput(_offers(ticket).of_revision(revision)).data, status=status)


class Offers(APIView):
    """The revisions of a ticket's offer."""

    required_scopes = {"GET": "requests:read", **DECIDES}

    @extend_schema(operation_id="list_offers", responses=shapes.OfferOutput(many=True))
    def get(self, request: Request, ref: str) -> Response:
        """Every revision, newest first."""
        return Response(shapes.OfferOutput(_offers(_ticket(request, ref)), many=True).data)

    @extend_schema(
        operation_id="propose_offer", request=shapes.OfferInput, responses={201: shapes.OfferOutput}
    )
    def post(self, request: Request, ref: str) -> Response:
        """Offer something for every undecided line; an open offer is superseded."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferInput, request)
        version = seen_by(request, ticket, given)
        given.pop("version", None)
        lines = [shapes.proposal_of(each) for each in given.pop("lines")]
        made = services.propose_offer(
            ticket=ticket, version=version, lines=lines, by=signed_in(request), **given
        )
        return _told(ticket, made.revision, status=201)


class Accept(APIView):
    """The team's yes to a revision."""

    required_scopes = REPLIES

    @extend_schema(operation_id="accept_offer", request=shapes.OfferAcceptInput, responses=shapes.OfferOutput)
    def post(self, request: Request, ref: str, revision: int) -> Response:
        """Accept all of it, or the lines at `positions`. 409 with what happened when the revision isn't open any more."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferAcceptInput, request)
        offer = _offers(ticket).of_revision(revision)
        services.accept_offer(
            offer=offer, revision=revision, positions=given.get("positions"), by=signed_in(request)
        )
        return _told(ticket, revision)


class Answer(APIView):
    """The team's answer to a revision, line by line."""

    required_scopes = REPLIES

    @extend_schema(
        operation_id="reply_to_offer", request=shapes.OfferReplyInput, responses=shapes.OfferOutput
    )
    def post(self, request: Request, ref: str, revision: int) -> Response:
        """Accept some lines, ask for something else instead of others, and drop the rest."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferReplyInput, request)
        if not any(given.get(name) for name in ("accept", "counter", "drop", "words")):
            raise Invalid({"accept": ["Accept, counter or drop something, or say what you need."]})
        counter = shapes.counters_of(given.pop("counter", []))
        offer = _offers(ticket).of_revision(revision)
        services.reply_to_offer(
            offer=offer, revision=revision, counter=counter, by=signed_in(request), **given
        )
        return _told(ticket, revision)


class Ask(APIView):
    """A question about a revision."""

    required_scopes = REPLIES

    @extend_schema(
        operation_id="ask_about_offer", request=shapes.OfferQuestionInput, responses=shapes.OfferOutput
    )
    def post(self, request: Request, ref: str, revision: int) -> Response:
        """Ask; the offer stays open until the desk has answered, and as long after it as it was before."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferQuestionInput, request)
        offer = _offers(ticket).of_revision(revision)
        services.ask_about_offer(offer=offer, revision=revision, by=signed_in(request), **given)
        return _told(ticket, revision)


class AnswerQuestion(APIView):
    """The desk's answer to what a team asked about the open offer."""

    required_scopes = DECIDES

    @extend_schema(
        operation_id="answer_about_offer", request=shapes.OfferAnswerInput, responses=shapes.OfferOutput
    )
    def post(self, request: Request, ref: str) -> Response:
        """Answer."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferAnswerInput, request)
        version = seen_by(request, ticket, given)
        services.answer_about_offer(
            ticket=ticket, version=version, answer=given["answer"], by=signed_in(request)
        )
        return Response(shapes.OfferOutput(_offers(ticket).first()).data)


class Withdraw(APIView):
    """Taking the open offer back."""

    required_scopes = DECIDES

    @extend_schema(
        operation_id="withdraw_offer", request=shapes.OfferWithdrawInput, responses=shapes.OfferOutput
    )
    def post(self, request: Request, ref: str) -> Response:
        """Withdraw it, with a reason."""
        ticket, given = _ticket(request, ref), read_shape(shapes.OfferWithdrawInput, request)
        version = seen_by(request, ticket, given)
        services.withdraw_offer(ticket=ticket, version=version, reason=given["reason"], by=signed_in(request))
        return Response(shapes.OfferOutput(_offers(ticket).first()).data)


class Promises(generics.ListAPIView[Promise]):
    """What is promised to teams the caller may see."""

    serializer_class = shapes.PromiseOutput
    required_scopes = {"GET": "requests:read"}
    allowed_filters = frozenset({"team", "overdue"})
    page_order = ("due_on", "id")
    queryset = Promise.objects.none()

    def get_queryset(self) -> QuerySet[Promise]:
        """Scoped, then narrowed to what somebody still waits for."""
        given, person = self.request.query_params, signed_in(self.request)
        overdue = given.get("overdue", "false")
        if overdue not in ("true", "false"):
            raise Invalid({"overdue": ["Use true or false."]})
        rows = overdue_promises(person) if overdue == "true" else Promise.objects.visible_to(person).living()
        if "team" in given:
            rows = rows.filter(line__ticket__team__slug=given["team"][:40])
        return rows.select_related("line__ticket__team")

    @extend_schema(
        operation_id="list_promises",
        parameters=[
            OpenApiParameter("team", str),
            OpenApiParameter("overdue", bool, description="Only those whose day has passed."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of promises that are not kept yet, the next first."""
        return super().get(request, *args, **kwargs)


class PromiseDoing(APIView):
    """Something that is done with one promise."""

    required_scopes = DECIDES

    def found(self, request: Request, number: int) -> Promise:
        """The promise, of a ticket that the caller may see."""
        rows = Promise.objects.visible_to(signed_in(request)).select_related("line__ticket__team")
        promise = rows.filter(pk=number).first()
        if promise is None:
            raise NotFound("There is no such promise.")
        return promise


class Move(PromiseDoing):
    """Promising another day."""

    @extend_schema(
        operation_id="move_promise", request=shapes.PromiseMoveInput, responses=shapes.PromiseOutput
    )
    def post(self, request: Request, number: int) -> Response:
        """Move it, with a reason: a new promise replaces this one, and the first day stays the one that is measured."""
        promise, given = self.found(request, number), read_shape(shapes.PromiseMoveInput, request)
        made = services.move_promise(promise=promise, by=signed_in(request), **given)
        return Response(shapes.PromiseOutput(made).data)


class Keep(PromiseDoing):
    """Keeping a promise."""

    @extend_schema(
        operation_id="keep_promise", request=shapes.PromiseKeepInput, responses=shapes.PromiseOutput
    )
    def post(self, request: Request, number: int) -> Response:
        """Place its order, make its grant, or hand it over with a note."""
        promise, given = self.found(request, number), read_shape(shapes.PromiseKeepInput, request)
        kept = services.keep_promise(promise=promise, by=signed_in(request), **given)
        return Response(shapes.PromiseOutput(kept).data)


class Cancel(PromiseDoing):
    """Taking a promise back."""

    @extend_schema(
        operation_id="cancel_promise", request=shapes.PromiseCancelInput, responses=shapes.PromiseOutput
    )
    def post(self, request: Request, number: int) -> Response:
        """Cancel it, with a reason."""
        promise, given = self.found(request, number), read_shape(shapes.PromiseCancelInput, request)
        gone = services.cancel_promise(promise=promise, by=signed_in(request), **given)
        return Response(shapes.PromiseOutput(gone).data)


urlpatterns = [
    path("tickets/<str:ref>/offers", Offers.as_view(), name="offers"),
    path("tickets/<str:ref>/offers/answer", AnswerQuestion.as_view(), name="offer-answer"),
    path("tickets/<str:ref>/offers/withdraw", Withdraw.as_view(), name="offer-withdraw"),
    path("tickets/<str:ref>/offers/<int:revision>/accept", Accept.as_view(), name="offer-accept"),
    path("tickets/<str:ref>/offers/<int:revision>/reply", Answer.as_view(), name="offer-reply"),
    path("tickets/<str:ref>/offers/<int:revision>/ask", Ask.as_view(), name="offer-ask"),
    path("promises", Promises.as_view(), name="promises"),
    path("promises/<int:number>/move", Move.as_view(), name="promise-move"),
    path("promises/<int:number>/keep", Keep.as_view(), name="promise-keep"),
    path("promises/<int:number>/cancel", Cancel.as_view(), name="promise-cancel"),
]
