"""The catalogue for API clients: what can be asked for, and the JSON Schema that answers are held to."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, NotFound
from requests_app.catalogue.live import live_for
from requests_app.catalogue.models import Offering
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.catalogue.queries import find, offering_by_slug
from requests_app.catalogue.questions import questions_of
from requests_app.catalogue.schema import json_schema


class OfferingOutput(serializers.ModelSerializer[Offering]):
    """An offering as it stands on the shelf."""

    version = serializers.IntegerField(source="current.number")
    pillar = serializers.CharField(source="current.pillar")
    kind = serializers.CharField(source="current.kind")
    title = serializers.CharField(source="current.title")
    promise = serializers.CharField(source="current.promise")
    lead_time = serializers.CharField(source="current.lead_time")
    fulfilment = serializers.CharField(source="current.fulfilment")

    class Meta:
        model = Offering
        fields = ("slug", "version", "pillar", "kind", "title", "promise", "lead_time", "fulfilment")
        read_only_fields = fields


class OfferingDetail(OfferingOutput):
    """With its description, the limits under which it approves itself, and the schema of its answers."""

    description = serializers.CharField(source="current.description")
    policy = serializers.DictField(source="current.policy")
    answers_schema = serializers.SerializerMethodField()

    class Meta(OfferingOutput.Meta):
        fields = (*OfferingOutput.Meta.fields, "description", "policy", "answers_schema")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]

    def get_answers_schema(self, offering: Offering) -> dict[str, Any]:
        """JSON Schema 2020-12 with the choices of this moment."""
        assert offering.current is not None
        live = live_for(self.context["team"])
        return json_schema(questions_of(offering.current.content), live, title=offering.current.title)


class OfferingList(generics.ListAPIView[Offering]):
    """What can be asked for."""

    serializer_class = OfferingOutput
    required_scopes = {"GET": "requests:read"}
    allowed_filters = frozenset({"search", "pillar"})
    queryset = Offering.objects.none()

    def get_queryset(self) -> QuerySet[Offering]:
        """By words and by pillar."""
        given = self.request.query_params
        pillar = given.get("pillar", "")
        if pillar and pillar not in PILLARS:
            raise Invalid({"pillar": [f"Choose one of: {', '.join(PILLARS)}."]})
        return find(self.request.user, text=given.get("search", ""), pillar=pillar)

    @extend_schema(
        operation_id="list_offerings",
        parameters=[OpenApiParameter("search", str), OpenApiParameter("pillar", str, enum=list(PILLARS))],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of offerings."""
        return super().get(request, *args, **kwargs)


class OfferingOne(APIView):
    """One offering."""

    required_scopes = {"GET": "requests:read"}

    @extend_schema(
        operation_id="get_offering",
        responses=OfferingDetail,
        parameters=[
            OpenApiParameter("team", str, description="Whose clusters can be chosen in the answers.")
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """With the schema of its answers; `?team=` fills in the choices that only a team has."""
        person = request.user
        assert isinstance(person, User)
        offering = offering_by_slug(person, slug)
        team = _team(person, request.query_params.get("team", ""))
        return Response(OfferingDetail(offering, context={"team": team}).data)


def _team(person: User, slug: str) -> Team | None:
    if not slug:
        return None
    team = Team.objects.visible_to(person).filter(slug=slug).first()
    if team is None:
        raise NotFound("There is no such team of yours.")
    return team


urlpatterns = [
    path("offerings", OfferingList.as_view(), name="offerings"),
    path("offerings/<slug:slug>", OfferingOne.as_view(), name="offering"),
]
