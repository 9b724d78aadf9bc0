"""Who is who? People, teams, what a person is in a team, and API tokens."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models

from portal.accounts.access import Action, Scope, StaffRole, TeamRole, may
from portal.kernel.clock import now

if TYPE_CHECKING:
    from django.db.models import QuerySet

Reader = AbstractUser | AnonymousUser

slug_shape = RegexValidator(
    r"\A[a-z][a-z0-9-]{0,30}\Z", "Use 1 to 31 small letters, digits and hyphens, beginning with a letter."
)


def named(path: str = "") -> tuple[str, ...]:
    """What `only()` takes to name a person at the end of `path`, where nothing else of them is shown."""
    return tuple(f"{path}__{column}".lstrip("_") for column in ("username", "first_name", "last_name"))


class User(AbstractUser):
    """A person. Customers have memberships; infra people have a staff role. `single_keys` says that one key may be a verb."""

    staff_role = models.CharField(
        max_length=10,
        default="",
        blank=True,
        choices=[(role.value, role.value or "none") for role in StaffRole],
    )
    time_zone = models.CharField(max_length=40, default="", blank=True)
    ssh_public_keys = models.TextField(default="", blank=True)
    single_keys = models.BooleanField(default=True)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(staff_role__in=[role.value for role in StaffRole]),
                name="user_staff_role_known",
            )
        ]

    def can(self, action: Action) -> bool:
        """True when this person's staff role allows `action`."""
        return self.is_active and may(self.staff_role, action)

    @property
    def is_infra(self) -> bool:
        """True for infra staff of any role."""
        return self.can(Action.SEE_ALL_TEAMS)

    @property
    def is_triager(self) -> bool:
        """True for who may decide tickets."""
        return self.can(Action.DECIDE_TICKETS)

    @property
    def is_operator(self) -> bool:
        """True for who may operate the fleet."""
        return self.can(Action.OPERATE_FLEET)

    def teams(self) -> QuerySet[Team]:
        """Teams this person is in."""
        return Team.objects.filter(memberships__user=self)

    def leads(self, team: Team) -> bool:
        """True when this person leads `team`."""
        return self.memberships.filter(team=team, role=TeamRole.LEAD).exists()

    def belongs_to(self, team: Team) -> bool:
        """True when this person is in `team`."""
        return self.memberships.filter(team=team).exists()


class TeamQuerySet(models.QuerySet["Team"]):
    """Teams by who may see them."""

    def visible_to(self, user: User | AnonymousUser) -> TeamQuerySet:
        """All for infra staff, their own for everybody else."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(memberships__user=user)


class Team(models.Model):
    """A research team: the customer."""

    slug = models.CharField(max_length=31, unique=True, validators=[slug_shape])
    name = models.CharField(max_length=80)
    time_zone = models.CharField(max_length=40, default="UTC")
    created_at = models.DateTimeField(default=now)

    objects = TeamQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person in a team."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(
        max_length=6, default=TeamRole.MEMBER.value, choices=[(r.value, r.value) for r in TeamRole]
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "team"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=[r.value for r in TeamRole]), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"


class ApiToken(models.Model):
    """What a client signs with. Only the hash of its secret is kept; the token itself is shown once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    public_id = models.CharField(max_length=10, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=30, choices=[(s.value, s.value) for s in Scope]))
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.public_id})"

    def is_live(self, at: datetime) -> bool:
        """True when the token counts at `at`."""
        return self.revoked_at is None and at < self.expires_at


class SignInTry(models.Model):
    """One try to sign in that did not succeed yet. The account is kept as a keyed hash: people type passwords there."""

    account = models.CharField(max_length=64)
    address = models.CharField(max_length=45)
    at = models.DateTimeField(default=now)

    class Meta:
        indexes = [
            models.Index(fields=["address", "at"], name="sign_in_try_address"),
            models.Index(fields=["at"], name="sign_in_try_at"),
        ]

    def __str__(self) -> str:
        return f"from {self.address} at {self.at:%H:%M}"
