"""How did it go, in the words of those who asked? One answer per person and ticket."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.clock import now


class OutcomeQuerySet(models.QuerySet["Outcome"]):
    """Answers by who may read them."""

    def visible_to(self, user: User | AnonymousUser) -> OutcomeQuerySet:
        """All for infra staff, one's own for everybody else: colleagues don't read each other's."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(person=user)


class Outcome(models.Model):
    """Satisfaction from 1 (bad) to 5 (good), effort from 1 (hard) to 5 (easy to get what I needed); NULL is not said."""

    ticket = models.ForeignKey("requests_app.Ticket", on_delete=models.PROTECT, related_name="outcomes")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    satisfaction = models.PositiveSmallIntegerField(null=True, blank=True)
    effort = models.PositiveSmallIntegerField(null=True, blank=True)
    words = models.TextField(default="", blank=True)
    at = models.DateTimeField(default=now)
    changed_at = models.DateTimeField(default=now)

    objects = OutcomeQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["ticket", "person"], name="outcome_once"),
            models.CheckConstraint(
                condition=Q(satisfaction=None) | Q(satisfaction__range=(1, 5)),
                name="outcome_satisfaction_1_to_5",
            ),
            models.CheckConstraint(
                condition=Q(effort=None) | Q(effort__range=(1, 5)), name="outcome_effort_1_to_5"
            ),
            models.CheckConstraint(
                condition=Q(satisfaction__isnull=False) | Q(effort__isnull=False),
                name="outcome_says_something",
            ),
        ]
        indexes = [models.Index(fields=["at"], name="outcome_at")]

    def __str__(self) -> str:
        return f"{self.person_id} on {self.ticket_id}"
