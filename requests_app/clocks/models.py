"""When does a team work, how fast shall infra be, and what do a ticket's clocks say for lists and figures?"""

from __future__ import annotations

from datetime import time

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from portal.accounts.models import Team
from portal.kernel.clock import now
from requests_app.catalogue.models import Offering
from requests_app.clocks.goals import ClockName

WORKDAYS = [0, 1, 2, 3, 4]


def _workdays() -> list[int]:
    return list(WORKDAYS)


class Calendar(models.Model):
    """When people work: weekdays (0 is Monday), hours by the clock on their wall, and holidays of their zone."""

    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    zone = models.CharField(max_length=40)
    days = ArrayField(models.PositiveSmallIntegerField(), default=_workdays)
    opens = models.TimeField(default=time(9))
    closes = models.TimeField(default=time(17))
    holidays = ArrayField(models.DateField(), default=list, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(closes=time(0)) | Q(closes__gt=F("opens")), name="calendar_closes_after_it_opens"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.zone})"


class TeamCalendar(models.Model):
    """Which calendar a team chose; a team without one works from Monday to Friday, nine to five, in its own zone."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="+")
    calendar = models.ForeignKey(Calendar, on_delete=models.PROTECT, related_name="teams")

    def __str__(self) -> str:
        return f"{self.team_id} works by {self.calendar_id}"


class ClockGoal(models.Model):
    """How many hours a clock may run, for an offering, a kind of offering, or (both empty) for everything."""

    offering = models.ForeignKey(Offering, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, default="", blank=True)
    clock = models.CharField(max_length=10, choices=[(each.value, each.value) for each in ClockName])
    hours = models.DecimalField(max_digits=7, decimal_places=2)
    business = models.BooleanField(default=True)

    class Meta:
        ordering = ["clock", "kind", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["offering", "kind", "clock"], name="clock_goal_once", nulls_distinct=False
            ),
            models.CheckConstraint(condition=Q(hours__gt=0), name="clock_goal_takes_time"),
            models.CheckConstraint(condition=Q(offering=None) | Q(kind=""), name="clock_goal_has_one_scope"),
            models.CheckConstraint(
                condition=Q(clock__in=[each.value for each in ClockName]), name="clock_goal_clock_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.clock} in {self.hours} h"


class ClockSummary(models.Model):
    """What the clocks of one ticket came to, for lists and figures; made anew from the ledger whenever something happens.

    `look_at` is when the next of them is at risk or missed, NULL when none will be. Seconds are NULL while the clock runs.
    """

    ticket = models.OneToOneField("requests_app.Ticket", on_delete=models.CASCADE, related_name="clocks")
    offering = models.ForeignKey(Offering, on_delete=models.PROTECT, related_name="+")
    look_at = models.DateTimeField(null=True, blank=True)
    answer_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    decision_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    unblock_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    delivery_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    derived_at = models.DateTimeField(default=now)

    class Meta:
        indexes = [
            models.Index(fields=["look_at"], name="clock_look", condition=Q(look_at__isnull=False)),
            models.Index(
                fields=["offering", "-delivered_at"],
                name="clock_delivered",
                condition=Q(delivered_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"clocks of {self.ticket_id}"


class ClockMark(models.Model):
    """Said once: that a clock of a ticket is at risk, or was missed."""

    ticket = models.ForeignKey("requests_app.Ticket", on_delete=models.CASCADE, related_name="+")
    clock = models.CharField(max_length=10)
    about = models.CharField(max_length=80, default="", blank=True)
    what = models.CharField(max_length=8, choices=[("at_risk", "at risk"), ("missed", "missed")])
    moment = models.DateTimeField()
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["ticket", "clock", "about", "what"], name="clock_said_once"),
            models.CheckConstraint(condition=Q(what__in=["at_risk", "missed"]), name="clock_mark_known"),
        ]

    def __str__(self) -> str:
        return f"{self.clock} of {self.ticket_id} {self.what}"
