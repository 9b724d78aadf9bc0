"""What may a team hold of a SKU, what does it hold, and how did it come to that?"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import F, Q

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from requests_app.quotas.arithmetic import Room
from requests_app.quotas.states import HOLD


class QuotaQuerySet(models.QuerySet["Quota"]):
    """Quotas by who may see them."""

    def visible_to(self, user: User | AnonymousUser) -> QuotaQuerySet:
        """All for infra staff, those of their teams for everybody else."""
        return self.filter(team__in=Team.objects.visible_to(user))


class Quota(models.Model):
    """GPUs of one SKU that a team may hold. `overdrawn` is what is still out after a boost has ended."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    sku = models.CharField(max_length=40)
    limit = models.PositiveIntegerField(null=True, blank=True)
    used = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    overdrawn = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=now)

    objects = QuotaQuerySet.as_manager()

    class Meta:
        ordering = ["sku", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "sku"], name="quota_once"),
            models.CheckConstraint(
                condition=Q(limit__isnull=True) | Q(limit__gte=F("used") + F("held") - F("overdrawn")),
                name="quota_never_exceeded",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team} {self.sku}"

    @property
    def says(self) -> str:
        """The numbers in words, for whoever can't see a bar."""
        return (
            f"{self.used} of {'unlimited' if self.limit is None else self.limit} GPUs used, {self.held} held"
        )

    @property
    def room(self) -> Room:
        """The numbers the rules work with."""
        return Room(limit=self.limit, used=self.used, held=self.held)


class Hold(Stateful):
    """GPUs set aside for one source (one approval of a line): held while it is decided and built, used while a cluster lives."""

    quota = models.ForeignKey(Quota, on_delete=models.PROTECT, related_name="holds")
    source = models.CharField(max_length=60, unique=True)
    gpus = models.PositiveIntegerField()
    order_ref = models.CharField(max_length=24, default="", blank=True)
    cluster_ref = models.CharField(max_length=24, default="", blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [status_check(HOLD, "hold_status_known")]
        indexes = [
            models.Index(fields=["order_ref"], name="hold_order"),
            models.Index(fields=["cluster_ref"], name="hold_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.gpus} GPUs {self.status}"


class Boost(models.Model):
    """A raise with an end: the limit goes back by itself."""

    quota = models.ForeignKey(Quota, on_delete=models.PROTECT, related_name="boosts")
    source = models.CharField(max_length=60, unique=True)
    gpus = models.PositiveIntegerField()
    until = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["until"], name="boost_due", condition=Q(ended_at__isnull=True))]

    def __str__(self) -> str:
        return f"{self.source}: {self.gpus} GPUs until {self.until:%Y-%m-%d}"


class LedgerEntry(models.Model):
    """One change of a quota. Append-only; the unique key makes every change happen once."""

    quota = models.ForeignKey(Quota, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=12)
    source = models.CharField(max_length=60)
    limit_change = models.IntegerField(default=0)
    used_change = models.IntegerField(default=0)
    held_change = models.IntegerField(default=0)
    reason = models.CharField(max_length=200, default="", blank=True)
    by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["quota", "source", "kind"], name="entry_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.source}"
