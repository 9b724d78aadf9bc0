"""What stands in the catalogue? Offerings, each with immutable numbered versions; a ticket pins one."""

from __future__ import annotations

from typing import Any, NoReturn

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Refused
from requests_app.catalogue.offering_shape import FAR_FROM_FOCUS, FARTHEST, FULFILMENTS, KINDS, PILLARS


class OfferingQuerySet(models.QuerySet["Offering"]):
    """Offerings by who may see them."""

    def visible_to(self, user: AbstractUser | AnonymousUser) -> OfferingQuerySet:
        """The catalogue is for everybody who is signed in."""
        return self if isinstance(user, User) and user.is_active else self.none()

    def on_the_shelf(self) -> OfferingQuerySet:
        """What can be asked for now, with its current version."""
        return self.filter(retired_at=None, current__isnull=False).select_related("current")


class Offering(models.Model):
    """A thing people may ask for. What it says is in its versions; `current` is the one a new ticket pins."""

    slug = models.CharField(max_length=40, unique=True)
    current = models.OneToOneField(
        "OfferingVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    retired_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)

    objects = OfferingQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class FrozenQuerySet(models.QuerySet["OfferingVersion"]):
    """Versions can be made and read, nothing else."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Refused: a ticket relies on what it pinned."""
        raise Refused("A version of an offering never changes; load a new one.", code="immutable")

    def delete(self) -> NoReturn:
        """Refused: a ticket relies on what it pinned."""
        raise Refused("A version of an offering is never deleted; retire the offering.", code="immutable")


class OfferingVersion(models.Model):
    """One version of an offering. `content` is its whole file; the other columns are copies that queries need."""

    offering = models.ForeignKey(Offering, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    content = models.JSONField()
    pillar = models.CharField(max_length=30, choices=[(name, name) for name in PILLARS])
    kind = models.CharField(max_length=10, choices=[(name, name) for name in KINDS])
    fulfilment = models.CharField(max_length=20, choices=[(name, name) for name in FULFILMENTS])
    title = models.CharField(max_length=80)
    promise = models.CharField(max_length=200)
    description = models.TextField()
    lead_time = models.CharField(max_length=80)
    effort_hours = models.DecimalField(max_digits=6, decimal_places=2)
    focus_distance = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=now)

    objects = FrozenQuerySet.as_manager()

    class Meta:
        ordering = ["offering_id", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["offering", "number"], name="offering_version_once"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="offering_version_counts_from_1"),
            models.CheckConstraint(condition=models.Q(pillar__in=PILLARS), name="offering_pillar_known"),
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="offering_kind_known"),
            models.CheckConstraint(
                condition=models.Q(fulfilment__in=FULFILMENTS), name="offering_fulfilment_known"
            ),
            models.CheckConstraint(condition=models.Q(effort_hours__gt=0), name="offering_effort_positive"),
            models.CheckConstraint(
                condition=models.Q(focus_distance__lte=FARTHEST), name="offering_focus_distance_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new version; an existing one is refused."""
        if not self._state.adding:
            raise Refused("A version of an offering never changes; load a new one.", code="immutable")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a ticket relies on what it pinned."""
        raise Refused("A version of an offering is never deleted; retire the offering.", code="immutable")

    @property
    def is_far_from_focus(self) -> bool:
        """True when a workaround comes first and a project replaces it."""
        return self.focus_distance >= FAR_FROM_FOCUS

    @property
    def policy(self) -> dict[str, Any]:
        """Limits under which a ticket approves itself; empty when a person always decides."""
        return dict(self.content.get("policy") or {})
