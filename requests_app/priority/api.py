"""Ranks for API clients: the explanation as numbers that add up, overrides, and the policy; the same services as the pages."""

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
from portal.kernel.errors import NotFound
from portal.kernel.parameters import refuse_unknown
from requests_app.priority import overrides, policies
from requests_app.priority.models import PriorityPolicy
from requests_app.priority.policy_rules import CONSTANTS
from requests_app.priority.reranking import current_run
from requests_app.priority.telling import RankTold, rank_of
from requests_app.tickets.api_shapes import NothingInput, Plain
from requests_app.tickets.models import Ticket

POLICIES_SHOWN = 100


class BarOutput(Plain):
    """One signed part of the head start, in seconds."""

    name = serializers.CharField()
    says = serializers.CharField()
    seconds = serializers.IntegerField()


class ReasonOutput(Plain):
    """A kind of reason and how many of the compared are ahead by it."""

    kind = serializers.CharField()
    count = serializers.IntegerField()


class PlaceOutput(Plain):
    """How many are ahead; `about` when estimated; reasons among the `compared` nearest."""

    ahead = serializers.IntegerField()
    about = serializers.BooleanField()
    compared = serializers.IntegerField()
    because = ReasonOutput(many=True)


class PinOutput(Plain):
    """An override and its end."""

    hours = serializers.FloatField()
    reason = serializers.CharField()
    until = serializers.DateTimeField()


class RankOutput(Plain):
    """`rank_key` is `ready_at` + paused − head start, in seconds; the bars' sum is exactly the head start."""

    ref = serializers.CharField()
    version = serializers.IntegerField()
    rank_key = serializers.IntegerField(allow_null=True)
    head_start = serializers.IntegerField()
    policy_version = serializers.IntegerField(allow_null=True)
    bars = BarOutput(many=True)
    place = PlaceOutput(allow_null=True)
    changes = BarOutput(many=True)
    effort_hours = serializers.FloatField()
    pin = PinOutput(allow_null=True)
    is_expedited = serializers.BooleanField()


def told(rank: RankTold) -> dict[str, Any]:
    """A rank as clients get it; of other tickets it says kinds and counts alone."""
    place = rank.place
    return {
        "ref": rank.ticket.ref,
        "version": rank.ticket.version,
        "rank_key": rank.ticket.rank_key,
        "head_start": rank.head_start,
        "policy_version": rank.ticket.rank_explanation.get("policy_version"),
        "bars": [{"name": bar.name, "says": bar.says, "seconds": bar.seconds} for bar in rank.bars],
        "place": None
        if place is None
        else {
            "ahead": place.ahead,
            "about": place.about,
            "compared": place.compared,
            "because": [{"kind": kind, "count": count} for kind, count in place.because],
        },
        "changes": [{"name": each.name, "says": each.says, "seconds": each.seconds} for each in rank.changes],
        "effort_hours": rank.effort,
        "pin": None
        if rank.pin is None
        else {"hours": rank.pin.seconds / 3600, "reason": rank.pin.reason, "until": rank.pin.expires_at},
        "is_expedited": rank.expedite is not None,
    }


def _ticket(request: Request, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


class RankOne(APIView):
    """Why a ticket stands where it stands."""

    required_scopes = {"GET": "requests:read"}

    @extend_schema(operation_id="explain_rank", responses=RankOutput)
    def get(self, request: Request, ref: str) -> Response:
        """The place, the bars and what would change them."""
        refuse_unknown(request.query_params)
        return Response(told(rank_of(_ticket(request, ref), signed_in(request))))


class Override(APIView):
    """Something a triager overrules."""

    required_scopes = {"POST": "triage:write"}

    def handle(self, request: Request, ref: str, shape: type[Plain]) -> Response:
        """Read, overrule, and say the rank that follows."""
        ticket, given = _ticket(request, ref), shape(data=request.data)
        given.is_valid(raise_exception=True)
        self.overrule(ticket, dict(given.validated_data), signed_in(request))
        return Response(told(rank_of(_ticket(request, ref), signed_in(request))))

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """What this view overrules."""
        raise NotImplementedError


class SeenInput(Plain):
    """The version of the ticket that was looked at."""

    version = serializers.IntegerField(min_value=1)


class PinInput(SeenInput):
    """Hours forward, back when negative, and why."""

    hours = serializers.FloatField(
        min_value=-overrides.MOST_PINNED_HOURS, max_value=overrides.MOST_PINNED_HOURS
    )
    reason = serializers.CharField(max_length=5000)


class EffortInput(SeenInput):
    """Infra-hours to first relief; null goes back to the offering's figure."""

    hours = serializers.DecimalField(max_digits=6, decimal_places=2, allow_null=True)


class ExpediteInput(SeenInput):
    """Why it can't wait."""

    reason = serializers.CharField(max_length=5000)


class PinOne(Override):
    """A pin."""

    @extend_schema(operation_id="pin_ticket", request=PinInput, responses=RankOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Move it for seven days."""
        return self.handle(request, ref, PinInput)

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """As the page does."""
        overrides.pin_ticket(ticket=ticket, **data, by=by)


class Unpin(Override):
    """A pin's end."""

    @extend_schema(operation_id="unpin_ticket", request=SeenInput, responses=RankOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Take the pin away."""
        return self.handle(request, ref, SeenInput)

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """As the page does."""
        overrides.unpin_ticket(ticket=ticket, **data, by=by)


class Effort(Override):
    """The effort."""

    @extend_schema(operation_id="set_effort", request=EffortInput, responses=RankOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Say how long first relief takes."""
        return self.handle(request, ref, EffortInput)

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """As the page does."""
        overrides.set_effort(ticket=ticket, **data, by=by)


class ExpediteOne(Override):
    """The expedite lane."""

    @extend_schema(operation_id="expedite_ticket", request=ExpediteInput, responses=RankOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Put it into the lane, which has two places."""
        return self.handle(request, ref, ExpediteInput)

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """As the page does."""
        overrides.expedite_ticket(ticket=ticket, **data, by=by)


class Unexpedite(Override):
    """The way out of the lane."""

    @extend_schema(operation_id="unexpedite_ticket", request=NothingInput, responses=RankOutput)
    def post(self, request: Request, ref: str) -> Response:
        """Take it out; twice does no harm."""
        return self.handle(request, ref, NothingInput)

    def overrule(self, ticket: Ticket, data: dict[str, Any], by: User) -> None:
        """As the page does."""
        overrides.unexpedite_ticket(ticket=ticket, by=by)


class PolicyOutput(serializers.ModelSerializer[PriorityPolicy]):
    """One version of the constants."""

    class Meta:
        model = PriorityPolicy
        fields = ("number", "active", *(constant.name for constant in CONSTANTS), "reason", "made_at")
        read_only_fields = fields


class PolicyInput(Plain):
    """A new version: `seen` is the number of the one it replaces."""

    seen = serializers.IntegerField(min_value=1)
    half_life_hours = serializers.FloatField()
    person_day = serializers.FloatField()
    median_ratio = serializers.FloatField()
    share_half_life_days = serializers.FloatField()
    flood_hours = serializers.FloatField()
    reason = serializers.CharField(max_length=2000)


class PoliciesOutput(Plain):
    """Versions, newest first, and how far a re-rank is: a share in [0, 1], null when none goes on."""

    policies = PolicyOutput(many=True)
    reranking = serializers.FloatField(allow_null=True)


class Policies(APIView):
    """By which constants everybody is ranked."""

    required_scopes = {"GET": "triage:write", "POST": "admin:all"}

    @extend_schema(operation_id="list_priority_policies", responses=PoliciesOutput)
    def get(self, request: Request) -> Response:
        """Every version, newest first."""
        refuse_unknown(request.query_params)
        _only_infra(request)
        rows = list(PriorityPolicy.objects.all()[:POLICIES_SHOWN]) or [policies.active_policy()]
        run = current_run()
        body = {"policies": PolicyOutput(rows, many=True).data, "reranking": run.share if run else None}
        return Response(body)

    @extend_schema(operation_id="make_priority_policy", request=PolicyInput, responses={201: PolicyOutput})
    def post(self, request: Request) -> Response:
        """Make a version and rank everything by it."""
        _only_infra(request)
        given = PolicyInput(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        made = policies.make_policy(
            seen=data.pop("seen"), reason=data.pop("reason"), constants=data, by=signed_in(request)
        )
        return Response(PolicyOutput(made).data, status=201)


def _only_infra(request: Request) -> None:
    if not signed_in(request).is_infra:
        raise NotFound("There is nothing here that you may see.")


urlpatterns = [
    path("tickets/<str:ref>/rank", RankOne.as_view(), name="ticket-rank"),
    path("tickets/<str:ref>/pin", PinOne.as_view(), name="ticket-pin"),
    path("tickets/<str:ref>/unpin", Unpin.as_view(), name="ticket-unpin"),
    path("tickets/<str:ref>/effort", Effort.as_view(), name="ticket-effort"),
    path("tickets/<str:ref>/expedite", ExpediteOne.as_view(), name="ticket-expedite"),
    path("tickets/<str:ref>/unexpedite", Unexpedite.as_view(), name="ticket-unexpedite"),
    path("priority-policies", Policies.as_view(), name="priority-policies"),
]
