"""The debt for API clients: its numbers, the projects that pay it off, and the caps."""

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
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.workarounds import api_shapes as shapes
from requests_app.workarounds import replacing, services
from requests_app.workarounds.api import DESK, read
from requests_app.workarounds.debt import debt_of, projects_of, tickets_of
from requests_app.workarounds.projects import Replacement, ReplacementQuerySet
from requests_app.workarounds.states import ReplacementState

READ = {"GET": "requests:read"}
GROUPS = ("live", "late")


def _project(request: Request, ref: str) -> Replacement:
    return Replacement.objects.visible_to(signed_in(request)).select_related("owner").by_ref(ref)


def _whole(request: Request, ref: str) -> Response:
    row = _project(request, ref)
    row.seen = [each.ref for each in tickets_of(row, signed_in(request))]  # type: ignore[attr-defined]
    return Response(shapes.ReplacementDetail(row).data)


class Replacements(generics.ListAPIView[Replacement]):
    """Projects that the caller may see."""

    serializer_class = shapes.ReplacementOutput
    required_scopes = READ
    allowed_filters = frozenset({"state", "pillar"})
    queryset = Replacement.objects.none()

    def get_queryset(self) -> ReplacementQuerySet:
        """Scoped, then narrowed."""
        given = self.request.query_params
        state, pillar = given.get("state", ""), given.get("pillar", "")
        known = (*GROUPS, *(each.value for each in ReplacementState))
        if state and state not in known:
            raise Invalid({"state": [f"Choose one of: {', '.join(known)}."]})
        if pillar and pillar not in PILLARS:
            raise Invalid({"pillar": [f"Choose one of: {', '.join(PILLARS)}."]})
        return projects_of(signed_in(self.request), state=state, pillar=pillar)

    @extend_schema(
        operation_id="list_replacements",
        parameters=[OpenApiParameter("state", str), OpenApiParameter("pillar", str)],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of projects, newest first; `live` and `late` are groups of states."""
        return super().get(request, *args, **kwargs)


class ReplacementOne(APIView):
    """One project."""

    required_scopes = READ

    @extend_schema(operation_id="get_replacement", responses=shapes.ReplacementDetail)
    def get(self, request: Request, ref: str) -> Response:
        """With its milestones and the workarounds that wait for it."""
        return _whole(request, ref)


class Move(APIView):
    """Moving a project on."""

    required_scopes = DESK

    @extend_schema(
        operation_id="move_replacement", request=shapes.ProjectMoveInput, responses=shapes.ReplacementDetail
    )
    def post(self, request: Request, ref: str) -> Response:
        """Plan, start, finish, drop or take up again; finishing ends the workarounds."""
        row, given = _project(request, ref), read(shapes.ProjectMoveInput, request)
        replacing.move_replacement(replacement=row, **given, by=signed_in(request))
        return _whole(request, ref)


class Target(APIView):
    """Another target."""

    required_scopes = DESK

    @extend_schema(
        operation_id="retarget_replacement",
        request=shapes.ProjectTargetInput,
        responses=shapes.ReplacementDetail,
    )
    def post(self, request: Request, ref: str) -> Response:
        """Within three months of its beginning, with a reason; the first target stays."""
        row, given = _project(request, ref), read(shapes.ProjectTargetInput, request)
        replacing.retarget(replacement=row, **given, by=signed_in(request))
        return _whole(request, ref)


class MilestoneDone(APIView):
    """A milestone that is done."""

    required_scopes = DESK

    @extend_schema(
        operation_id="finish_milestone", request=shapes.MilestoneInput, responses=shapes.ReplacementDetail
    )
    def post(self, request: Request, ref: str) -> Response:
        """Twice is once."""
        row, given = _project(request, ref), read(shapes.MilestoneInput, request)
        replacing.finish_milestone(replacement=row, **given, by=signed_in(request))
        return _whole(request, ref)


class DebtNumbers(APIView):
    """What we owe."""

    required_scopes = READ
    allowed_filters = frozenset({"team"})

    @extend_schema(
        operation_id="get_debt", responses=shapes.DebtOutput, parameters=[OpenApiParameter("team", str)]
    )
    def get(self, request: Request) -> Response:
        """Open and overdue workarounds, interest, half-life, and the same needs again."""
        unknown = set(request.query_params) - self.allowed_filters - {"format"}
        if unknown:
            raise Invalid({name: ["There is no such filter here. Known: team."] for name in sorted(unknown)})
        owed = debt_of(signed_in(request), team=request.query_params.get("team", ""))
        return Response(shapes.DebtOutput(owed).data)


class Projects(APIView):
    """One project for a class."""

    required_scopes = DESK

    @extend_schema(
        operation_id="make_project",
        request=shapes.ProjectInput,
        responses={201: shapes.ReplacementDetail},
    )
    def post(self, request: Request) -> Response:
        """Every open workaround of the class that has no project gets this one."""
        given = read(shapes.ProjectInput, request)
        plan = replacing.Plan(title=given["title"])
        made = replacing.make_project(class_key=given["class_key"], plan=plan, by=signed_in(request))
        answer = _whole(request, made.ref)
        answer.status_code = 201
        return answer


class Caps(APIView):
    """How many workarounds of a pillar may be open."""

    required_scopes = {"POST": "admin:all"}

    @extend_schema(operation_id="set_workaround_cap", request=shapes.CapInput, responses=shapes.CapOutput)
    def post(self, request: Request) -> Response:
        """Admins set it; what is open already stays."""
        given = read(shapes.CapInput, request)
        return Response(shapes.CapOutput(services.set_cap(**given, by=signed_in(request))).data)


urlpatterns = [
    path("replacements", Replacements.as_view(), name="replacements"),
    path("replacements/<str:ref>", ReplacementOne.as_view(), name="replacement"),
    path("replacements/<str:ref>/move", Move.as_view(), name="replacement-move"),
    path("replacements/<str:ref>/target", Target.as_view(), name="replacement-target"),
    path("replacements/<str:ref>/milestones", MilestoneDone.as_view(), name="replacement-milestones"),
    path("debt", DebtNumbers.as_view(), name="debt"),
    path("debt/projects", Projects.as_view(), name="debt-projects"),
    path("debt/caps", Caps.as_view(), name="debt-caps"),
]
