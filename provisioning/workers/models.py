"""Who can run jobs? Every worker writes a row that it is there; Celery is never asked."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models.functions import Now

from portal.accounts.models import User
from portal.kernel.clock import now

SILENT_AFTER = timedelta(seconds=30)
FORGOTTEN_AFTER = timedelta(days=1)


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Workers by who may see them and whether they live."""

    def visible_to(self, user: User | AnonymousUser) -> WorkerQuerySet:
        """Infra staff's."""
        return self if isinstance(user, User) and user.is_active and user.is_infra else self.none()

    def alive(self) -> WorkerQuerySet:
        """Those that were heard of lately, by the database's clock."""
        return self.filter(seen_at__gt=Now() - SILENT_AFTER, stopped_at=None)


class Worker(models.Model):
    """One Celery worker: `slots` jobs at a time, of `queues`. `name` is `machine:pid`, as leases name it.

    `cores`, `memory_mib` and `free_mib` are what processes on its machine may use; None: it didn't say.
    """

    name = models.CharField(max_length=120, unique=True)
    queues = models.JSONField(default=list)
    slots = models.PositiveIntegerField()
    versions = models.JSONField(default=dict)
    cores = models.PositiveIntegerField(null=True, blank=True)
    memory_mib = models.PositiveIntegerField(null=True, blank=True)
    free_mib = models.PositiveIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(default=now)
    seen_at = models.DateTimeField(default=now)
    stopped_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Worker]] = WorkerQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        indexes = [models.Index(fields=["seen_at"], name="worker_seen")]

    def __str__(self) -> str:
        return self.name
