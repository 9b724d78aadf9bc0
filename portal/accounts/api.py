"""The API of people: who am I, teams and their members, my tokens."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts import queries, services
from portal.accounts.access import Scope, TeamRole, scopes_for
from portal.accounts.models import ApiToken, Membership, Team, User
from portal.accounts.signed_in import signed_in
from portal.kernel.clock import now
from portal.kernel.errors import NotAllowed

READ = Scope.REQUESTS_READ.value
WRITE = Scope.REQUESTS_WRITE.value
ROLES = [(role.value, role.value) for role in TeamRole]


def _team(request: Request, slug: str) -> Team:
    return get_object_or_404(Team.objects.visible_to(signed_in(request)), slug=slug)


class MyTeamOutput(serializers.Serializer[Membership]):
    """A team of the person, and what they are in it."""

    slug = serializers.CharField(source="team.slug")
    name = serializers.CharField(source="team.name")
    role = serializers.ChoiceField(choices=ROLES)


class MeOutput(serializers.Serializer[User]):
    """The person who asks; `scopes` are what this session or token may do now."""

    username = serializers.CharField()
    full_name = serializers.CharField(source="get_full_name")
    staff_role = serializers.CharField()
    time_zone = serializers.CharField()
    teams = MyTeamOutput(many=True, source="team_rows")
    scopes = serializers.ListField(child=serializers.CharField(), source="scope_names")


class Me(APIView):
    """Who signs with this token?"""

    permission_classes = [IsAuthenticated]  # any token may ask who it is

    @extend_schema(operation_id="me_show", responses=MeOutput)
    def get(self, request: Request) -> Response:
        """The person, their teams, and what this token or session may do."""
        user = signed_in(request)
        token = request.auth
        scopes = token.scopes if isinstance(token, ApiToken) else list(scopes_for(user.staff_role))
        row = {
            "username": user.username,
            "get_full_name": user.get_full_name(),
            "staff_role": user.staff_role,
            "time_zone": user.time_zone,
            "team_rows": user.memberships.select_related("team").order_by("team__slug"),
            "scope_names": [str(scope) for scope in scopes],
        }
        return Response(MeOutput(cast("User", row)).data)


class TeamOutput(serializers.ModelSerializer[Team]):
    """A team."""

    class Meta:
        model = Team
        fields = ["slug", "name", "time_zone", "created_at"]


class Teams(generics.ListAPIView[Team]):
    """The teams the person may see."""

    serializer_class = TeamOutput
    required_scopes = {"GET": READ}
    page_order = ("slug", "id")

    @extend_schema(operation_id="teams_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of teams by slug."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Team]:
        """Infra staff see every team, everybody else their own."""
        return Team.objects.visible_to(signed_in(self.request))


class TeamDetail(APIView):
    """One team."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="teams_show", responses=TeamOutput)
    def get(self, request: Request, slug: str) -> Response:
        """The team, 404 for one that isn't the person's to see."""
        return Response(TeamOutput(_team(request, slug)).data)


class TeamMemberOutput(serializers.Serializer[Membership]):
    """A person in a team."""

    username = serializers.CharField(source="user.username")
    full_name = serializers.CharField(source="user.get_full_name")
    role = serializers.ChoiceField(choices=ROLES)


class MemberInput(serializers.Serializer[Membership]):
    """What the person is in the team."""

    role = serializers.ChoiceField(choices=ROLES, default=TeamRole.MEMBER.value)


class Members(generics.ListAPIView[Membership]):
    """Who is in a team."""

    serializer_class = TeamMemberOutput
    required_scopes = {"GET": READ}
    page_order = ("user__username", "id")

    @extend_schema(operation_id="teams_members_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of members by user name."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Membership]:
        """Through the team, so that a stranger gets 404."""
        return queries.members_of(_team(self.request, self.kwargs["slug"]))


class Member(APIView):
    """One person in a team."""

    required_scopes = {"PUT": WRITE, "DELETE": WRITE}

    @extend_schema(operation_id="teams_members_set", request=MemberInput, responses=TeamMemberOutput)
    def put(self, request: Request, slug: str, username: str) -> Response:
        """Take a person in, or change what they are; leads only. Saying it twice changes nothing."""
        team = _team(request, slug)
        asked = MemberInput(data=request.data)
        asked.is_valid(raise_exception=True)
        membership = services.set_member(
            team=team, username=username, role=asked.validated_data["role"], by=signed_in(request)
        )
        return Response(TeamMemberOutput(membership).data)

    @extend_schema(operation_id="teams_members_remove", responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """Take a person out; leads, and everybody themselves. The last lead can't go."""
        services.remove_member(team=_team(request, slug), username=username, by=signed_in(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenOutput(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    live = serializers.SerializerMethodField()

    class Meta:
        model = ApiToken
        fields = [
            "public_id",
            "name",
            "scopes",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
            "live",
        ]

    def get_live(self, token: ApiToken) -> bool:
        """True while it counts."""
        return token.is_live(now())


class NewTokenOutput(TokenOutput):
    """A new token; `token` is shown this once."""

    token = serializers.CharField(read_only=True)

    class Meta(TokenOutput.Meta):
        fields = ["token", *TokenOutput.Meta.fields]


class TokenInput(serializers.Serializer[ApiToken]):
    """What a new token may do, and for how long."""

    name = serializers.CharField(max_length=80)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[(scope.value, scope.value) for scope in Scope]),
        allow_empty=False,
    )
    expires_in_days = serializers.IntegerField(
        min_value=1, max_value=services.LONGEST_TOKEN_DAYS, default=services.USUAL_TOKEN_DAYS
    )


class Tokens(generics.ListAPIView[ApiToken]):
    """The person's own tokens."""

    serializer_class = TokenOutput
    required_scopes = {"GET": READ, "POST": WRITE}
    keeps_answers = False  # the token is said once and kept nowhere
    page_order = ("-created_at", "-id")

    @extend_schema(operation_id="me_tokens_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of tokens, newest first."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[ApiToken]:
        """One's own only."""
        return queries.tokens_of(signed_in(self.request))

    @extend_schema(operation_id="me_tokens_issue", request=TokenInput, responses={201: NewTokenOutput})
    def post(self, request: Request) -> Response:
        """Make a token. One made by a token may not do more, nor live longer, than that one."""
        asked = TokenInput(data=request.data)
        asked.is_valid(raise_exception=True)
        wanted = asked.validated_data
        _hold_within(request.auth, wanted["scopes"], wanted["expires_in_days"])
        token, text = services.issue_token(
            name=wanted["name"],
            scopes=wanted["scopes"],
            days=wanted["expires_in_days"],
            by=signed_in(request),
        )
        token.token = text  # type: ignore[attr-defined]  # for this one answer; there is no such column
        answer = Response(NewTokenOutput(token).data, status=status.HTTP_201_CREATED)
        answer["Cache-Control"] = "no-store"
        return answer


def _hold_within(token: Any, scopes: list[str], days: int) -> None:
    if not isinstance(token, ApiToken) or Scope.ADMIN.value in token.scopes:
        allowed = None
    else:
        allowed = set(token.scopes)
    if allowed is not None and not set(scopes) <= allowed:
        raise NotAllowed("A token can't make one that may do more than itself.", code="wider-than-itself")
    if isinstance(token, ApiToken) and (token.expires_at - now()).days < days:
        raise NotAllowed("A token can't make one that outlives it.", code="outlives-itself")


class TokenDetail(APIView):
    """One token of the person."""

    required_scopes = {"DELETE": WRITE}

    @extend_schema(operation_id="me_tokens_revoke", responses={204: None})
    def delete(self, request: Request, public_id: str) -> Response:
        """End it at once."""
        services.revoke_token(public_id=public_id, by=signed_in(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("me", Me.as_view(), name="me"),
    path("me/tokens", Tokens.as_view(), name="me-tokens"),
    path("me/tokens/<slug:public_id>", TokenDetail.as_view(), name="me-token"),
    path("teams", Teams.as_view(), name="teams"),
    path("teams/<slug:slug>", TeamDetail.as_view(), name="team"),
    path("teams/<slug:slug>/members", Members.as_view(), name="team-members"),
    path("teams/<slug:slug>/members/<str:username>", Member.as_view(), name="team-member"),
]
