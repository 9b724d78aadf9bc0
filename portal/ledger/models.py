"""What happened, and who still has to be told? Append-only events and their deliveries."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from portal.kernel.clock import now


class Event(models.Model):
    """Something that happened. Never changed, never deleted: a trigger in the database refuses both."""

    name = models.CharField(max_length=60)
    subject = models.CharField(max_length=260)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    payload = models.JSONField(default=dict)
    at = models.DateTimeField(default=now)

    class Meta:
        indexes = [
            models.Index(fields=["subject", "id"], name="event_subject"),
            models.Index(fields=["name", "id"], name="event_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.subject}"


class DeliveryStatus(models.TextChoices):
    """Where a delivery stands; `dead` waits for a person."""

    PENDING = "pending"
    DONE = "done"
    DEAD = "dead"


class Delivery(models.Model):
    """One event to one reaction, at least once."""

    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="deliveries")
    reaction = models.CharField(max_length=120)
    state = models.CharField(max_length=8, choices=DeliveryStatus, default=DeliveryStatus.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(default=now)
    last_error = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["event", "reaction"], name="delivery_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=DeliveryStatus.values), name="delivery_state_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"], name="delivery_due", condition=models.Q(state=DeliveryStatus.PENDING)
            )
        ]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.reaction}"
