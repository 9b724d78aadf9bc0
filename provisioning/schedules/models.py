"""What runs by itself, and when did it? A wall time in a named zone, what it does to which nodes, and every time it was due."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.clock import now
from provisioning.fleet.models import Sku
from provisioning.jobs.models import Job
from provisioning.schedules.wall_time import next_after


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    """Schedules by who may see them."""

    def visible_to(self, user: User | AnonymousUser) -> ScheduleQuerySet:
        """Infra staff's."""
        return self if isinstance(user, User) and user.is_active and user.is_infra else self.none()


class Schedule(models.Model):
    """A sweep over the free nodes of a SKU, or of all. `days` are weekdays, Monday is 0; `at_once` nodes are in one job.

    `next_at` follows from wall time and zone and is NULL while the schedule rests.
    """

    name = models.SlugField(max_length=60, unique=True)
    playbook = models.CharField(max_length=40, default="validate_node")
    sku = models.ForeignKey(Sku, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    at = models.TimeField()
    zone = models.CharField(max_length=60)
    days = models.JSONField(default=list)
    at_once = models.PositiveSmallIntegerField(default=4)
    enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(default=now)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    objects: ClassVar[models.Manager[Schedule]] = ScheduleQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(at_once__gte=1), name="schedule_takes_a_node"),
            models.CheckConstraint(
                condition=Q(enabled=True, next_at__isnull=False) | Q(enabled=False, next_at__isnull=True),
                name="schedule_enabled_is_due",
            ),
        ]
        indexes = [models.Index(fields=["next_at"], name="schedule_due", condition=Q(enabled=True))]

    def __str__(self) -> str:
        return self.name

    def due_after(self, moment: datetime) -> datetime:
        """When it is due next after `moment`."""
        return next_after(moment, at=self.at, zone=ZoneInfo(self.zone), days=self.days or range(7))


class ScheduleRun(models.Model):
    """One time a schedule was due: what came of it. Unique by due moment, so that it can't run twice."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    due_at = models.DateTimeField()
    ran_at = models.DateTimeField(default=now)
    skipped = models.BooleanField(default=False)
    text = models.CharField(max_length=300)
    jobs: models.ManyToManyField[Job, models.Model] = models.ManyToManyField(
        Job, related_name="schedule_runs"
    )

    class Meta:
        ordering = ["-due_at"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="schedule_run_once")]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.due_at:%Y-%m-%d %H:%M}"
