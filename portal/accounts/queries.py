"""Which teams, members and tokens does a page show? Shapes that join several tables, in a constant number of queries."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from portal.accounts.access import TeamRole
from portal.accounts.models import ApiToken, Membership, Team, User

TEAMS_A_PAGE = 100


def team_rows(user: User, *, after: str = "") -> list[Team]:
    """One page of the teams `user` may see, by slug, with `members` and `leads`; one row more says there is a next."""
    counted = Team.objects.visible_to(user).annotate(
        members=Count("memberships", distinct=True),
        leads=Count("memberships", filter=Q(memberships__role=TeamRole.LEAD), distinct=True),
    )
    return list(counted.filter(slug__gt=after).order_by("slug")[: TEAMS_A_PAGE + 1])


def members_of(team: Team) -> QuerySet[Membership]:
    """Who is in `team`: leads first, then by name."""
    return Membership.objects.filter(team=team).select_related("user").order_by("role", "user__username")


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Every token of `user`, newest first; the dead ones too, because their last use may matter."""
    return ApiToken.objects.filter(user=user).order_by("-created_at", "-id")
