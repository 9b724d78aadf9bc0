"""Which projects build what workarounds stand in for, by when, and who waits for them?"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref, parse_ref
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.tickets.models import Ticket
from requests_app.workarounds.ageing import weeks_begun
from requests_app.workarounds.states import LIVE, REPLACEMENT

Reader = AbstractUser | AnonymousUser
PILLAR_CHOICES = [(name, name) for name in PILLARS]


def person_key(*, null: bool = False) -> models.ForeignKey[User, User]:
    """A column for somebody who did something; people are never deleted under it."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, null=null, blank=null, on_delete=models.PROTECT, related_name="+"
    )


class ReplacementQuerySet(models.QuerySet["Replacement"]):
    """Projects by who may see them and by where they stand."""

    def visible_to(self, user: Reader) -> ReplacementQuerySet:
        """All for infra staff, those that a ticket of theirs waits for for everybody else."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.is_infra:
            return self
        wanted = Replacement.tickets.through.objects.filter(ticket__in=Ticket.objects.visible_to(user))
        return self.filter(pk__in=wanted.values("replacement"))

    def by_ref(self, ref: str) -> Replacement:
        """The project `R-3` of this set; NotFound when it isn't in it."""
        found = self.filter(pk=parse_ref(ref, "R")).first()
        if found is None:
            raise NotFound(f"There is no project {ref}.")
        return found

    def live(self) -> ReplacementQuerySet:
        """Neither done nor dropped."""
        return self.filter(status__in=LIVE)


class Replacement(Stateful):
    """The project that makes workarounds of one class unnecessary. `first_target_on` is what it is measured by."""

    title = models.CharField(max_length=200)
    pillar = models.CharField(max_length=30, choices=PILLAR_CHOICES)
    class_key = models.CharField(max_length=200)
    owner = person_key()
    target_on = models.DateField()
    first_target_on = models.DateField()
    tickets = models.ManyToManyField(Ticket, related_name="replacements")
    reason = models.TextField(default="", blank=True)
    created_by = person_key(null=True)
    created_at = models.DateTimeField(default=now)
    done_at = models.DateTimeField(null=True, blank=True)

    objects = ReplacementQuerySet.as_manager()

    class Meta:
        ordering = ["target_on", "id"]
        constraints = [
            status_check(REPLACEMENT, "replacement_state_known"),
            models.UniqueConstraint(
                fields=["class_key"], condition=Q(status__in=LIVE), name="replacement_one_live_per_class"
            ),
            models.CheckConstraint(condition=Q(pillar__in=PILLARS), name="replacement_pillar_known"),
        ]
        indexes = [models.Index(fields=["status", "target_on", "id"], name="replacement_due")]

    def __str__(self) -> str:
        return f"{self.ref} {self.title}"

    @property
    def ref(self) -> str:
        """`R-3`."""
        return format_ref("R", self.pk)

    @property
    def is_live(self) -> bool:
        """True while somebody still means to build it."""
        return self.status in LIVE

    def weeks_late(self, at: datetime) -> int:
        """Overdue weeks that have begun; 0 for one that is in time, done or dropped."""
        return weeks_begun(due_on=self.target_on, at=at) if self.is_live else 0

    @property
    def is_late(self) -> bool:
        """True when its target day is over."""
        return self.weeks_late(now()) > 0


class Milestone(models.Model):
    """A step of a project."""

    replacement = models.ForeignKey(Replacement, on_delete=models.PROTECT, related_name="milestones")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=200)
    due_on = models.DateField()
    done_at = models.DateTimeField(null=True, blank=True)
    done_by = person_key(null=True)

    class Meta:
        ordering = ["replacement_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["replacement", "position"], name="milestone_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_late(self) -> bool:
        """True when its day is over and it is not done."""
        return self.done_at is None and weeks_begun(due_on=self.due_on, at=now()) > 0
