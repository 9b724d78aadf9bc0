"""Workarounds for API clients: give, look, renew, end, and say what they cost; the same services, the same refusals."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from requests_app.tickets.api import idempotency_key
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.workarounds import api_shapes as shapes
from requests_app.workarounds import services
from requests_app.workarounds.debt import VIEWS, workarounds_of
from requests_app.workarounds.forms import infra_named
from requests_app.workarounds.granting import Terms
from requests_app.workarounds.models import Workaround, WorkaroundQuerySet
from requests_app.workarounds.renewing import renew_workaround
from requests_app.workarounds.replacing import DESK as GRANTING
from requests_app.workarounds.replacing import Plan

DESK = {"POST": "triage:write"}


def read(shape: type[shapes.Plain], request: Request) -> dict[str, Any]:
    """What was sent, in shape; a field that the shape doesn't have is refused, not ignored."""
    given = shape(data=request.data)
    if isinstance(request.data, dict):
        unknown = [str(name)[:60] for name in request.data if name not in given.fields]
        if unknown:
            raise Invalid({name: ["There is no such field."] for name in unknown})
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _workaround(request: Request, ref: str) -> Workaround:
    return Workaround.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


class Workarounds(generics.ListAPIView[Workaround]):
    """Workarounds the caller may see."""

    serializer_class = shapes.WorkaroundOutput
    required_scopes = {"GET": "requests:read"}
    allowed_filters = frozenset({"view", "team", "pillar", "kind"})
    queryset = Workaround.objects.none()

    def get_queryset(self) -> WorkaroundQuerySet:
        """Scoped, then narrowed."""
        given = self.request.query_params
        told = {name: given.get(name, "") for name in self.allowed_filters}
        return workarounds_of(signed_in(self.request), **told)

    @extend_schema(
        operation_id="list_workarounds",
        parameters=[
            OpenApiParameter("view", str, enum=[name for name in VIEWS if name]),
            OpenApiParameter("team", str),
            OpenApiParameter("pillar", str),
            OpenApiParameter("kind", str),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of workarounds, newest first."""
        return super().get(request, *args, **kwargs)


class WorkaroundOne(APIView):
    """One workaround."""

    required_scopes = {"GET": "requests:read"}

    @extend_schema(operation_id="get_workaround", responses=shapes.WorkaroundOutput)
    def get(self, request: Request, ref: str) -> Response:
        """As it stands."""
        return Response(shapes.WorkaroundOutput(_workaround(request, ref)).data)


class Grant(APIView):
    """Giving a workaround to a ticket."""

    required_scopes = DESK

    @extend_schema(
        operation_id="grant_workaround",
        request=shapes.GrantInput,
        responses={201: shapes.WorkaroundOutput},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Give it; a far-from-focus ask gets its project at the same moment."""
        person = signed_in(request)
        ticket = Ticket.objects.visible_to(person).for_pages().by_ref(ref)
        only_triagers(person, GRANTING)
        given = read(shapes.GrantInput, request)
        version, plan = given.pop("version"), given.pop("plan", {})
        given["owner"] = infra_named(given["owner"])
        made = services.grant_workaround(
            ticket=ticket, version=version, terms=Terms(**given, plan=Plan(**plan)), by=person
        )
        where = request.path.partition("/tickets/")[0] + f"/workarounds/{made.ref}"
        answer = shapes.WorkaroundOutput(_workaround(request, made.ref)).data
        return Response(answer, status=201, headers={"Location": where})


class Doing(APIView):
    """Something that is done with one workaround."""

    required_scopes = DESK

    def answer(self, request: Request, ref: str) -> Response:
        """The workaround as it stands after it."""
        return Response(shapes.WorkaroundOutput(_workaround(request, ref)).data)


class Renew(Doing):
    """One more term."""

    @extend_schema(
        operation_id="renew_workaround",
        request=shapes.RenewInput,
        responses=shapes.WorkaroundOutput,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER, required=True)],
    )
    def post(self, request: Request, ref: str) -> Response:
        """Approve it anew; counted from its end, once per key."""
        row, given = _workaround(request, ref), read(shapes.RenewInput, request)
        key = idempotency_key(request)
        if not key:
            raise Invalid({"Idempotency-Key": ["A renewal carries this header, so that it happens once."]})
        renew_workaround(workaround=row, **given, key=key, by=signed_in(request))
        return self.answer(request, ref)


class AskRenewal(Doing):
    """Asking for more time."""

    required_scopes = {"POST": "requests:write"}

    @extend_schema(
        operation_id="ask_workaround_renewal",
        request=shapes.AskRenewalInput,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Its team's and infra's."""
        row, given = _workaround(request, ref), read(shapes.AskRenewalInput, request)
        services.ask_renewal(workaround=row, **given, by=signed_in(request))
        return self.answer(request, ref)


class Interest(Doing):
    """What it did cost."""

    @extend_schema(
        operation_id="note_workaround_interest",
        request=shapes.InterestInput,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Note the hours of a week; a second entry corrects the first."""
        row, given = _workaround(request, ref), read(shapes.InterestInput, request)
        services.note_interest(workaround=row, **given, by=signed_in(request))
        return self.answer(request, ref)


class RefuseRenewal(Doing):
    """No more time."""

    @extend_schema(
        operation_id="refuse_workaround_renewal",
        request=shapes.WorkaroundWords,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Say no, with a reason."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.refuse_renewal(
            workaround=row, version=given["version"], reason=given["text"], by=signed_in(request)
        )
        return self.answer(request, ref)


class End(Doing):
    """Taking it back before its time."""

    @extend_schema(
        operation_id="end_workaround", request=shapes.WorkaroundWords, responses=shapes.WorkaroundOutput
    )
    def post(self, request: Request, ref: str) -> Response:
        """End it by its kind's own mechanism."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.end_workaround(
            workaround=row, version=given["version"], reason=given["text"], by=signed_in(request)
        )
        return self.answer(request, ref)


class Applied(Doing):
    """A step by hand is done."""

    @extend_schema(
        operation_id="mark_workaround_applied",
        request=shapes.WorkaroundWords,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """From now on it holds."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.mark_applied(
            workaround=row, version=given["version"], note=given["text"], by=signed_in(request)
        )
        return self.answer(request, ref)


class Reverted(Doing):
    """It is gone."""

    @extend_schema(
        operation_id="mark_workaround_reverted",
        request=shapes.WorkaroundWords,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Say how it was taken back."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.mark_reverted(
            workaround=row, version=given["version"], note=given["text"], by=signed_in(request)
        )
        return self.answer(request, ref)


class TryAgain(Doing):
    """Once more."""

    @extend_schema(
        operation_id="retry_workaround_revert",
        request=shapes.WorkaroundWords,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Take back what is stuck or half applied."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.try_again(workaround=row, version=given["version"], by=signed_in(request))
        return self.answer(request, ref)


class Proper(Doing):
    """It is the proper solution."""

    @extend_schema(
        operation_id="call_workaround_proper",
        request=shapes.WorkaroundWords,
        responses=shapes.WorkaroundOutput,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Record why nothing has to replace it."""
        row, given = _workaround(request, ref), read(shapes.WorkaroundWords, request)
        services.call_proper(
            workaround=row, version=given["version"], because=given["text"], by=signed_in(request)
        )
        return self.answer(request, ref)


urlpatterns = [
    path("tickets/<str:ref>/workarounds", Grant.as_view(), name="ticket-workarounds"),
    path("workarounds", Workarounds.as_view(), name="workarounds"),
    path("workarounds/<str:ref>", WorkaroundOne.as_view(), name="workaround"),
    path("workarounds/<str:ref>/renew", Renew.as_view(), name="workaround-renew"),
    path("workarounds/<str:ref>/ask-renewal", AskRenewal.as_view(), name="workaround-ask-renewal"),
    path("workarounds/<str:ref>/refuse-renewal", RefuseRenewal.as_view(), name="workaround-refuse-renewal"),
    path("workarounds/<str:ref>/end", End.as_view(), name="workaround-end"),
    path("workarounds/<str:ref>/applied", Applied.as_view(), name="workaround-applied"),
    path("workarounds/<str:ref>/reverted", Reverted.as_view(), name="workaround-reverted"),
    path("workarounds/<str:ref>/try-again", TryAgain.as_view(), name="workaround-try-again"),
    path("workarounds/<str:ref>/proper", Proper.as_view(), name="workaround-proper"),
    path("workarounds/<str:ref>/interest", Interest.as_view(), name="workaround-interest"),
]
