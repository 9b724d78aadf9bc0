"""What becomes of a filed request? The ticket, its lines, what people say about it, and what is not filed yet."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref, parse_ref
from requests_app.catalogue.models import OfferingVersion
from requests_app.tickets.line_models import Line, LineDecision, LineVerdict, LineWhat
from requests_app.tickets.states import FINAL, MACHINE, OPEN, QUEUED, WITH_TEAM

__all__ = [
    "Comment",
    "CommentQuerySet",
    "Draft",
    "DraftQuerySet",
    "Line",
    "LineDecision",
    "LineVerdict",
    "LineWhat",
    "Person",
    "Ticket",
    "TicketQuerySet",
    "of_visible_tickets",
]

Person = AbstractUser | AnonymousUser


class TicketQuerySet(models.QuerySet["Ticket"]):
    """Tickets by who may see them and by where they stand."""

    def visible_to(self, user: Person) -> TicketQuerySet:
        """All for infra staff, those of their teams for everybody else."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(team__in=user.teams())

    def by_ref(self, ref: str) -> Ticket:
        """The ticket `T-12` of this set; NotFound when it isn't in it."""
        ticket = self.filter(pk=parse_ref(ref, "T")).first()
        if ticket is None:
            raise NotFound(f"There is no ticket {ref}.")
        return ticket

    def in_queue(self) -> TicketQuerySet:
        """What the desk has to decide, next first."""
        return self.filter(status__in=QUEUED).order_by(models.F("rank_key").asc(nulls_last=True), "id")

    def before(self, ticket: Ticket) -> TicketQuerySet:
        """Those that are decided before a ranked `ticket`, spelled so that the queue's index serves it."""
        key = ticket.rank_key
        earlier = models.Q(rank_key__lt=key) | models.Q(rank_key=key, pk__lt=ticket.pk)
        return self.filter(models.Q(rank_key__lte=key) & earlier)

    def still_open(self) -> TicketQuerySet:
        """What is not final yet."""
        return self.exclude(status__in=FINAL)

    def for_pages(self) -> TicketQuerySet:
        """With the rows that every page shows beside a ticket."""
        return self.select_related("team", "requester", "assignee", "offering_version__offering")


class Ticket(Stateful):
    """A filed request. It pins the offering version whose questions it answered.

    `rank_key` is seconds since the epoch, smaller first, NULL outside the queue. `blocked_people`, `idle_gpus` and
    `blocked_since` are the open block's facts. `paused_seconds` is how long it waited for its team, all told.
    `effort_hours` is what staff expects until first relief, NULL for the offering's own figure. A snoozed ticket leaves
    the desk until then and goes on ageing. `merged_into` is the request that took this one over.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    requester = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    offering_version = models.ForeignKey(OfferingVersion, on_delete=models.PROTECT, related_name="+")
    title = models.CharField(max_length=200)
    answers = models.JSONField(default=dict)
    note = models.TextField(default="", blank=True)

    submitted_at = models.DateTimeField(default=now)
    state_since = models.DateTimeField(default=now)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    question = models.TextField(default="", blank=True)
    reason_code = models.CharField(max_length=40, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    nearest_yes = models.TextField(default="", blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    rank_key = models.BigIntegerField(null=True, blank=True)
    rank_facts = models.JSONField(default=dict, blank=True)
    rank_explanation = models.JSONField(default=dict, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)
    paused_seconds = models.PositiveBigIntegerField(default=0)

    effort_hours = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    expedited_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    merged_into = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    blocked_since = models.DateTimeField(null=True, blank=True)
    blocked_people = models.PositiveIntegerField(default=0)
    idle_gpus = models.PositiveIntegerField(default=0)

    submission_token = models.CharField(max_length=80, null=True, blank=True)
    submission_hash = models.CharField(max_length=64, default="", blank=True)

    objects = TicketQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(MACHINE, "ticket_state_known"),
            models.UniqueConstraint(fields=["requester", "submission_token"], name="ticket_filed_once"),
            models.CheckConstraint(
                condition=models.Q(status__in=WITH_TEAM, waiting_since__isnull=False)
                | (~models.Q(status__in=WITH_TEAM) & models.Q(waiting_since__isnull=True)),
                name="ticket_waiting_has_since",
            ),
        ]
        indexes = [
            models.Index(
                fields=["rank_key", "id"], name="ticket_queue", condition=models.Q(status__in=QUEUED)
            ),
            models.Index(fields=["team", "-id"], name="ticket_team"),
            models.Index(fields=["requester", "-id"], name="ticket_requester"),
            models.Index(fields=["status", "-id"], name="ticket_state"),
            models.Index(
                fields=["assignee", "rank_key", "id"],
                name="ticket_desk",
                condition=models.Q(status__in=QUEUED, assignee__isnull=False),
            ),
            models.Index(
                fields=["rank_key", "id"],
                name="ticket_blocked",
                condition=models.Q(status__in=QUEUED, blocked_since__isnull=False),
            ),
            models.Index(
                fields=["snoozed_until"],
                name="ticket_snoozed",
                condition=models.Q(snoozed_until__isnull=False),
            ),
            models.Index(fields=["status", "state_since", "id"], name="ticket_since"),
            models.Index(
                fields=["expedited_at", "id"],
                name="ticket_lane",
                condition=models.Q(expedited_at__isnull=False),
            ),
            models.Index(
                fields=["offering_version", "-id"],
                name="ticket_open_asks",
                condition=models.Q(status__in=OPEN),
            ),
            models.Index(
                fields=["merged_into"], name="ticket_merged", condition=models.Q(merged_into__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.title}"

    @property
    def ref(self) -> str:
        """How people name it: `T-1042`."""
        return format_ref("T", self.pk)

    @property
    def is_blocking(self) -> bool:
        """True while its team says that it can't work."""
        return self.blocked_since is not None


def of_visible_tickets(user: Person, through: str = "ticket") -> models.Q:
    """The condition on rows that hang on a ticket which `user` may see; `through` is the way there.

    Infra people see all: to look each one up among a million tickets would say nothing.
    """
    if isinstance(user, User) and user.is_active and user.is_infra:
        return models.Q(**{f"{through}__isnull": False})
    return models.Q(**{f"{through}__in": Ticket.objects.visible_to(user)})


class CommentQuerySet(models.QuerySet["Comment"]):
    """Comments by who may see them."""

    def visible_to(self, user: Person) -> CommentQuerySet:
        """Those of visible tickets; internal notes only for infra staff."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        seen = self.filter(of_visible_tickets(user))
        return seen if user.is_infra else seen.filter(internal=False)


class Comment(models.Model):
    """What a person says about a ticket, in Markdown. An internal one is for infra staff alone.

    `token` is the one-time token of the form that sent it. `version` grows with every edit.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    body = models.TextField()
    internal = models.BooleanField(default=False)
    at = models.DateTimeField(default=now)
    version = models.PositiveIntegerField(default=1)
    edited_at = models.DateTimeField(null=True, blank=True)
    token = models.CharField(max_length=80, null=True, blank=True)
    by_mail = models.BooleanField(default=False)

    objects = CommentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["author", "token"], name="comment_said_once")]
        indexes = [models.Index(fields=["ticket", "at", "id"], name="comment_thread")]

    def __str__(self) -> str:
        return f"{self.author_id} on {self.ticket_id}"


class DraftQuerySet(models.QuerySet["Draft"]):
    """Drafts belong to who writes them, and to nobody else."""

    def visible_to(self, user: Person) -> DraftQuerySet:
        """One's own."""
        return self.filter(user_id=user.pk) if user.is_authenticated else self.none()


class Draft(models.Model):
    """A form that is not filed yet, as it was typed. Its token files at most one ticket."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    offering_version = models.ForeignKey(OfferingVersion, on_delete=models.PROTECT, related_name="+")
    token = models.CharField(max_length=80)
    typed: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    saved_at = models.DateTimeField(default=now)

    objects = DraftQuerySet.as_manager()

    class Meta:
        ordering = ["-saved_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["user", "token"], name="draft_once")]

    def __str__(self) -> str:
        return f"draft {self.pk} of {self.user_id}"
