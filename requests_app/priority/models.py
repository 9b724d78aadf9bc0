"""By which constants is ranked, and what overrides a rank? Policy versions, pins, the expedite lane, shares, and long re-ranks."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from portal.accounts.models import Team
from portal.kernel.clock import now
from requests_app.priority.scoring import Policy
from requests_app.tickets.models import Ticket


class PriorityPolicy(models.Model):
    """One version of the rule's constants. Never changed after it was made: a correction is a new version.

    `half_life_hours` H, `person_day` κ in GPU-hours, `median_ratio` x0, `residual` the w of a workaround that nobody
    measured, `share_half_life_days` how fast granted capacity is forgotten, `flood_hours` the shift of a further ticket
    of the same team.
    """

    number = models.PositiveIntegerField(unique=True)
    active = models.BooleanField(default=False)
    half_life_hours = models.FloatField(default=24.0)
    person_day = models.FloatField(default=530.0)
    median_ratio = models.FloatField(default=60.0)
    share_half_life_days = models.FloatField(default=14.0)
    flood_hours = models.FloatField(default=6.0)
    reason = models.TextField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["active"], condition=models.Q(active=True), name="policy_one_active"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    half_life_hours__gt=0,
                    person_day__gt=0,
                    median_ratio__gt=0,
                    share_half_life_days__gt=0,
                    flood_hours__gte=0,
                ),
                name="policy_constants_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"priority policy {self.number}"

    @property
    def constants(self) -> Policy:
        """As the rule takes them."""
        return Policy(
            version=self.number,
            half_life_hours=self.half_life_hours,
            person_day=self.person_day,
            median_ratio=self.median_ratio,
        )


class Pin(models.Model):
    """A person's override of a rank, in seconds of head start; it has a reason and an end."""

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="pins")
    seconds = models.BigIntegerField()
    reason = models.TextField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["ticket"], condition=models.Q(ended_at=None), name="pin_one_open"
            ),
            models.CheckConstraint(condition=~models.Q(reason=""), name="pin_has_a_reason"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="pin_due", condition=models.Q(ended_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} pinned by {self.seconds} s"


class Expedite(models.Model):
    """A ticket in the expedite lane. The lane has two slots, which the database keeps true."""

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="expedites")
    slot = models.PositiveSmallIntegerField()
    reason = models.TextField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["slot"], condition=models.Q(ended_at=None), name="expedite_slot_taken_once"
            ),
            models.UniqueConstraint(
                fields=["ticket"], condition=models.Q(ended_at=None), name="expedite_ticket_once"
            ),
            models.CheckConstraint(condition=models.Q(slot__in=(1, 2)), name="expedite_two_slots"),
            models.CheckConstraint(condition=~models.Q(reason=""), name="expedite_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} in slot {self.slot}"


class FairShare(models.Model):
    """What a team had lately of a resource class, against its entitlement. `fairness` φ is what ranks read: it moves only by leaps.

    `resource` is a SKU, or `people` for the time of infra people. `used` U and `entitled` S are shares in [0, 1].
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    resource = models.CharField(max_length=60)
    used = models.FloatField()
    entitled = models.FloatField()
    fairness = models.FloatField()
    computed_at = models.DateTimeField(default=now)
    moved_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "resource"], name="fair_share_once"),
            models.CheckConstraint(
                condition=models.Q(fairness__gte=0.25, fairness__lte=4.0), name="fair_share_clamped"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.resource}: {self.fairness:.2f}"


class Rerank(models.Model):
    """A re-rank of many tickets, batch by batch: `last_id` is how far it came, so that a killed one goes on from there."""

    policy = models.ForeignKey(PriorityPolicy, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=200)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    last_id = models.PositiveBigIntegerField(default=0)
    upper_id = models.PositiveBigIntegerField(default=0)
    started_at = models.DateTimeField(default=now)
    touched_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["id"], name="rerank_open", condition=models.Q(ended_at=None))]

    def __str__(self) -> str:
        return f"re-rank {self.pk}: {self.done} of {self.total}"

    @property
    def share(self) -> float:
        """How much of it is done, in [0, 1]."""
        return 1.0 if self.ended_at is not None or not self.total else min(1.0, self.done / self.total)


class CrunchWarning(models.Model):
    """A time in which more came than was done, or people waited too long. `ended_at` is NULL while it lasts."""

    started_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)
    arrivals = models.PositiveIntegerField()
    completions = models.PositiveIntegerField()
    wait_p95_hours = models.FloatField()
    reasons = models.JSONField(default=list)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                models.Value(1), condition=models.Q(ended_at=None), name="crunch_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"crunch since {self.started_at:%Y-%m-%d}"
