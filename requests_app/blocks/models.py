"""Since when is a team blocked, by whose word, and what does it cost? Intervals, and all that speaks for or against them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.tickets.models import Ticket, of_visible_tickets

Person = AbstractUser | AnonymousUser


class EndSource(models.TextChoices):
    """By whose word a block is over."""

    CONFIRMED = "confirmed"
    MEASURED = "measured"
    WITHDRAWN = "withdrawn"


class BlockInterval(models.Model):
    """A team that can't work: facts as they stand now. `ended_at` is NULL while it lasts.

    `people` can't work, `idle_gpus` stand idle; `resource` names what stands idle (a SKU or a cluster), empty when nobody
    said. `confirmed_by` is the infra person who looked and found it so. `end_source` says by whose word it is over.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="blocks")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    people = models.PositiveIntegerField(default=0)
    idle_gpus = models.PositiveIntegerField(default=0)
    resource = models.CharField(max_length=60, default="", blank=True)
    what = models.CharField(max_length=500)
    claimed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    claimed_at = models.DateTimeField(default=now)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    confirmed_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    end_source = models.CharField(max_length=10, default="", blank=True, choices=EndSource)

    class Meta:
        ordering = ["-started_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["ticket"], condition=models.Q(ended_at=None), name="block_one_open_per_ticket"
            ),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) | models.Q(ended_at__gte=models.F("started_at")),
                name="block_ends_after_start",
            ),
            models.CheckConstraint(
                condition=models.Q(ended_at=None, end_source="")
                | models.Q(ended_at__isnull=False, end_source__in=EndSource.values),
                name="block_end_has_a_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} blocked since {self.started_at:%Y-%m-%d %H:%M}"


class BlockPerson(models.Model):
    """A named person who can't work because of a block. `confirmed_at` is their own click; `half` when they work at half speed."""

    block = models.ForeignKey(BlockInterval, on_delete=models.PROTECT, related_name="persons")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    named_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    named_at = models.DateTimeField(default=now)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    refused_at = models.DateTimeField(null=True, blank=True)
    half = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["block", "user"], name="block_person_once"),
            models.CheckConstraint(
                condition=models.Q(confirmed_at=None) | models.Q(refused_at=None),
                name="block_person_says_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in block {self.block_id}"


class BlockAmendment(models.Model):
    """Facts of a block that somebody corrected: what they were until `at`. Never changed, never deleted."""

    block = models.ForeignKey(BlockInterval, on_delete=models.PROTECT, related_name="amendments")
    at = models.DateTimeField(default=now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    people_before = models.PositiveIntegerField()
    idle_gpus_before = models.PositiveIntegerField()
    resource_before = models.CharField(max_length=60, default="", blank=True)
    what_before = models.CharField(max_length=500)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"block {self.block_id} amended {self.at:%Y-%m-%d %H:%M}"


class IdleReading(models.Model):
    """A machine's measurement for a ticket: how many GPUs stood idle at `at`; 0 says that they work. Once per reporter's key."""

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="idle_readings")
    key = models.CharField(max_length=80)
    at = models.DateTimeField()
    idle_gpus = models.PositiveIntegerField()
    resource = models.CharField(max_length=60, default="", blank=True)
    reported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reported_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["reported_by", "key"], name="idle_reading_once"),
        ]
        indexes = [models.Index(fields=["ticket", "-at"], name="idle_reading_latest")]

    def __str__(self) -> str:
        return f"{self.ticket_id}: {self.idle_gpus} idle at {self.at:%Y-%m-%d %H:%M}"


class CommitmentQuerySet(models.QuerySet["Commitment"]):
    """Commitments by who may see them."""

    def visible_to(self, user: Person) -> CommitmentQuerySet:
        """Those of visible tickets, and those one is asked to sponsor."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self.filter(of_visible_tickets(user) | models.Q(sponsor=user))


class Commitment(models.Model):
    """Something the team owes on a day, and what a day's loss of it is worth, in GPU-hours. Counts when its sponsor said yes.

    The sponsor is outside the team. It counts from `lead_days` before `due_on` until that day.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="commitments")
    what = models.CharField(max_length=200)
    due_on = models.DateField()
    lead_days = models.PositiveSmallIntegerField(default=14)
    loss_per_day = models.PositiveIntegerField()
    sponsor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=now)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    dropped_at = models.DateTimeField(null=True, blank=True)

    objects = CommitmentQuerySet.as_manager()

    class Meta:
        ordering = ["due_on", "id"]
        indexes = [
            models.Index(
                fields=["due_on"],
                name="commitment_counting",
                condition=models.Q(confirmed_at__isnull=False, dropped_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"{self.what} on {self.due_on}"


class ClaimRecord(models.Model):
    """What a block was claimed to cost and what was measured, in GPU-hours, once it was over: how well a team's word holds."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    block = models.OneToOneField(BlockInterval, on_delete=models.PROTECT, related_name="claim_record")
    claimed_gpu_hours = models.FloatField()
    measured_gpu_hours = models.FloatField()
    at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(claimed_gpu_hours__gte=0, measured_gpu_hours__gte=0),
                name="claim_record_not_negative",
            )
        ]
        indexes = [models.Index(fields=["team", "-at"], name="claim_record_team")]

    def __str__(self) -> str:
        return f"block {self.block_id}: {self.measured_gpu_hours:.0f} of {self.claimed_gpu_hours:.0f}"
