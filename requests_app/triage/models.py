"""What does the desk keep beside the tickets? Views, snoozes, what can be taken back, who looks, who is on duty, and bulk runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from requests_app.tickets.models import Person, Ticket
from requests_app.triage.states import MACHINE


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    """Views by who may use them."""

    def visible_to(self, user: Person) -> SavedViewQuerySet:
        """One's own and what the desk shares; nothing for who has no desk."""
        if not isinstance(user, User) or not user.is_infra:
            return self.none()
        return self.filter(models.Q(owner=user) | models.Q(shared=True))


class SavedView(models.Model):
    """Filters of the desk under a name, of one person or shared by the desk."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    filters: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField(default=dict)
    shared = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=now)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """The query of the desk's address for these filters."""
        return urlencode(self.filters)


class Wake(models.TextChoices):
    """What ends a snooze."""

    TIME = "time"
    ACTIVITY = "activity"


class Snooze(models.Model):
    """A ticket that left the inbox until a time, or until somebody else says something. `ended_at` is NULL while it sleeps
    or its time has passed by itself."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="snoozes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=now)
    until = models.DateTimeField()
    wake = models.CharField(max_length=8, choices=Wake, default=Wake.TIME)
    reason = models.CharField(max_length=200, default="", blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(wake__in=Wake.values), name="snooze_wake_known"),
            models.UniqueConstraint(
                fields=["ticket"], condition=models.Q(ended_at=None), name="snooze_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} until {self.until:%Y-%m-%d %H:%M}"


class UndoQuerySet(models.QuerySet["Undo"]):
    """What can be taken back, by who did it."""

    def visible_to(self, user: Person) -> UndoQuerySet:
        """One's own."""
        return self.filter(by_id=user.pk) if user.is_authenticated else self.none()


class Undo(models.Model):
    """One act at the desk that its author may take back until `until`. `before` is what it changed, as it was.

    `version` is the ticket's after the act; `events` are the numbers of the ledger's rows that the act wrote.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    verb = models.CharField(max_length=20)
    says = models.CharField(max_length=200)
    version = models.PositiveIntegerField()
    before: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    events = ArrayField(models.BigIntegerField(), default=list)
    at = models.DateTimeField(default=now)
    until = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    objects = UndoQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["by", "-id"], name="undo_newest")]

    def __str__(self) -> str:
        return f"{self.verb} of {self.ticket_id}"


class Presence(models.Model):
    """Who has a ticket open. A row counts for half a minute after it was last seen; it locks nothing."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["ticket", "person"], name="presence_once")]

    def __str__(self) -> str:
        return f"{self.person_id} at {self.ticket_id}"


class DutyShift(models.Model):
    """A person is on triage duty on these weekdays (0 is Monday), from one wall-clock time to another, in a zone.

    An end at or before the start is on the next day. `until` is the last day on which a shift begins, NULL for no end.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    zone = models.CharField(max_length=40, default="UTC")
    since = models.DateField()
    until = models.DateField(null=True, blank=True)
    weekdays = ArrayField(models.PositiveSmallIntegerField(), default=list)
    begins = models.TimeField()
    ends = models.TimeField()
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(until=None) | models.Q(until__gte=models.F("since")),
                name="duty_ends_after_start",
            )
        ]

    def __str__(self) -> str:
        return f"{self.person_id} {self.begins:%H:%M} to {self.ends:%H:%M} {self.zone}"


class ReplyUse(models.TextChoices):
    """What a canned text is for."""

    COMMENT = "comment"
    QUESTION = "question"
    DECLINE = "decline"


class ReplyTemplate(models.Model):
    """A text of the desk with a few placeholders, for comments, questions or declines."""

    name = models.CharField(max_length=60, unique=True)
    use = models.CharField(max_length=8, choices=ReplyUse)
    body = models.TextField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=models.Q(use__in=ReplyUse.values), name="reply_use_known")
        ]

    def __str__(self) -> str:
        return self.name


class BulkQuerySet(models.QuerySet["BulkRun"]):
    """Bulk runs by who may see them."""

    def visible_to(self, user: Person) -> BulkQuerySet:
        """All for infra staff, none for everybody else."""
        return self if isinstance(user, User) and user.is_infra else self.none()


class BulkRun(Stateful):
    """A frozen selection and what is done to each of its rows. `total` never changes after the freeze."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    filters: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField(default=dict)
    verb = models.CharField(max_length=12, default="", blank=True)
    arguments: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    total = models.PositiveIntegerField(default=0)
    made_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = BulkQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [status_check(MACHINE, "bulk_state_known")]

    def __str__(self) -> str:
        return f"{self.verb or 'selection'} of {self.total}"


class RowEnd(models.TextChoices):
    """What became of one row of a bulk run."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class BulkRow(models.Model):
    """One ticket of a frozen selection, with the version it had when it was frozen."""

    run = models.ForeignKey(BulkRun, on_delete=models.CASCADE, related_name="rows")
    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="+")
    seen = models.PositiveIntegerField()
    ending = models.CharField(max_length=8, choices=RowEnd, default=RowEnd.PENDING)
    said = models.CharField(max_length=300, default="", blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "ticket"], name="bulk_row_once"),
            models.CheckConstraint(condition=models.Q(ending__in=RowEnd.values), name="bulk_ending_known"),
        ]
        indexes = [
            models.Index(
                fields=["run", "id"], name="bulk_pending", condition=models.Q(ending=RowEnd.PENDING)
            ),
            models.Index(fields=["run", "ending", "id"], name="bulk_report"),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} in {self.run_id}"
