"""Which answer did a client get for a key it sent? Kept for three days, so that sending again gives the same answer."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from portal.kernel.clock import now


class KeptAnswer(models.Model):
    """One call with an Idempotency-Key. The row is made first, as the lock; `answered_at` is NULL while it is worked on."""

    caller = models.CharField(max_length=40)
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=80)
    request_hash = models.CharField(max_length=64)
    claimed_at = models.DateTimeField(default=now)
    answered_at = models.DateTimeField(null=True, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    headers = models.JSONField(default=dict)
    body = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caller", "route", "key"], name="kept_answer_once"),
            models.CheckConstraint(
                condition=Q(answered_at=None, http_status=None)
                | Q(answered_at__isnull=False, http_status__isnull=False),
                name="kept_answer_has_status",
            ),
        ]
        indexes = [models.Index(fields=["claimed_at"], name="kept_answer_age")]

    def __str__(self) -> str:
        return f"{self.key} of {self.caller} on {self.route}"
