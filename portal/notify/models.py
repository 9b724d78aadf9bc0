"""Who is told what by which way, what do people want to hear, and which mail came in?"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.validators import MaxValueValidator
from django.db import models

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from portal.ledger.models import Event
from portal.notify.kinds import Channel, Topic, When
from portal.notify.states import MACHINE, MessageState
from portal.shell.addresses import page_of
from requests_app.tickets.models import Comment, Ticket, of_visible_tickets

CHANNELS = [(each.value, each.value) for each in Channel]
TOPICS = [(each.value, each.value) for each in Topic]
WHENS = [(each.value, each.value) for each in When]


class NotificationQuerySet(models.QuerySet["Notification"]):
    """Messages by whose they are, and whether that person may read them now."""

    def visible_to(self, user: AbstractUser | AnonymousUser) -> NotificationQuerySet:
        """One's inbox: of tickets and comments that one may see at this moment."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        mine = self.filter(recipient=user, channel=Channel.INBOX)
        if user.is_infra:
            return mine
        mine = mine.filter(models.Q(ticket=None) | of_visible_tickets(user))
        return mine.filter(models.Q(comment=None) | models.Q(comment__internal=False), staff_only=False)

    def unread(self) -> NotificationQuerySet:
        """Not looked at yet."""
        return self.filter(read_at=None)


class Notification(Stateful):
    """One event told to one person (or one chat room) by one way. The row is the truth; sending it is a detail.

    `target` names a chat room. `staff_only` messages are for infra staff. `due_at` is when it may leave: a little later
    than the event, so that what is taken back at once is never mailed. A digest's is its next hour.
    """

    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="+")
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    channel = models.CharField(max_length=6, choices=CHANNELS)
    target = models.CharField(max_length=40, default="", blank=True)
    kind = models.CharField(max_length=60)
    topic = models.CharField(max_length=12, choices=TOPICS)
    ticket = models.ForeignKey(Ticket, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    comment = models.ForeignKey(Comment, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    staff_only = models.BooleanField(default=False)
    named = models.BooleanField(default=False)
    title = models.CharField(max_length=300)
    body = models.TextField(default="", blank=True)
    digest = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=now)
    due_at = models.DateTimeField(default=now)
    leased_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.TextField(default="", blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    message_id = models.CharField(max_length=200, default="", blank=True)
    read_at = models.DateTimeField(null=True, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(MACHINE, "notification_state_known"),
            models.UniqueConstraint(
                fields=["event", "recipient", "channel", "target"],
                name="notification_once",
                nulls_distinct=False,
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                name="notification_due",
                condition=models.Q(status__in=[MessageState.PENDING, MessageState.SENDING]),
            ),
            models.Index(fields=["recipient", "channel", "-id"], name="notification_inbox"),
            models.Index(
                fields=["recipient"],
                name="notification_unread",
                condition=models.Q(channel=Channel.INBOX, read_at=None),
            ),
            models.Index(
                fields=["message_id"], name="notification_message", condition=~models.Q(message_id="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.recipient_id or self.target} by {self.channel}"

    @property
    def about(self) -> str:
        """The ref of what it is about; "" for what has no page."""
        ref = self.ticket.ref if self.ticket else self.event.subject
        return ref if page_of(ref) else ""


class Preference(models.Model):
    """How soon a person wants to hear of a topic by one way; without a row the default counts."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    topic = models.CharField(max_length=12, choices=TOPICS)
    channel = models.CharField(max_length=6, choices=CHANNELS)
    when = models.CharField(max_length=6, choices=WHENS)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "topic", "channel"], name="preference_once"),
            models.CheckConstraint(
                condition=models.Q(when__in=[each.value for each in When]), name="preference_when_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.topic} by {self.channel} {self.when}"


class DigestHour(models.Model):
    """At which hour of their day a person gets the summary; without a row the portal's hour counts."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    hour = models.PositiveSmallIntegerField(validators=[MaxValueValidator(23)])

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(hour__lte=23), name="digest_hour_of_a_day")]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.hour}"


class Bouncing(models.Model):
    """An address that mail comes back from. While the person still has it, nothing is mailed to them."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    address = models.EmailField()
    reason = models.TextField(default="", blank=True)
    since = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.address


class ChatRoom(models.Model):
    """Where a team is told in its own chat. The address is a secret of the team."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="+")
    secret_url = models.CharField(max_length=500)
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return f"chat of {self.team_id}"


class Verdict(models.TextChoices):
    """What became of a mail that came in."""

    COMMENTED = "commented"
    ANSWERED = "answered"
    IGNORED = "ignored"
    BOUNCED = "bounced"
    QUARANTINED = "quarantined"


class ReceivedMail(models.Model):
    """A mail that came in, once. Of one that was put aside the text is kept for admins to read."""

    key = models.CharField(max_length=64, unique=True)
    message_id = models.CharField(max_length=300, default="", blank=True)
    sender = models.CharField(max_length=320, default="", blank=True)
    subject = models.CharField(max_length=300, default="", blank=True)
    verdict = models.CharField(max_length=12, choices=Verdict)
    reason = models.CharField(max_length=300, default="", blank=True)
    text = models.TextField(default="", blank=True)
    ticket = models.ForeignKey(Ticket, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(default=now)
    put_away_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(verdict__in=Verdict.values), name="mail_verdict_known")
        ]
        indexes = [models.Index(fields=["verdict", "-id"], name="mail_verdict")]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.subject}"
