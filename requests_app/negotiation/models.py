"""What did infra propose, what did the team say, and what is promised for which day?"""

from __future__ import annotations

from datetime import date

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import F, Q

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.kernel.moves import Stateful, status_check
from requests_app.negotiation.states import LIVING, OFFER, PROMISE, OfferState, PromiseState
from requests_app.quotas.models import Hold
from requests_app.tickets.models import Line, Ticket, of_visible_tickets

Reader = User | AnonymousUser


class OfferKind(models.TextChoices):
    """What is proposed for one line."""

    NOW = "now"
    PART = "part"
    LATER = "later"
    INSTEAD = "instead"
    NO = "no"


class Reliability(models.TextChoices):
    """How much a team may rely on it."""

    BEST_EFFORT = "best-effort"
    STANDARD = "standard"
    PROTECTED = "protected"


class Reply(models.TextChoices):
    """What the team said about one line of an offer; empty is nothing."""

    NONE = ""
    ACCEPTED = "accepted"
    COUNTERED = "countered"
    DROPPED = "dropped"


class OfferQuerySet(models.QuerySet["Offer"]):
    """Offers by who may see them."""

    def visible_to(self, user: Reader) -> OfferQuerySet:
        """Those of visible tickets."""
        return self.filter(of_visible_tickets(user))

    def of_revision(self, revision: int) -> Offer:
        """The offer with this number, of a set that holds one ticket's; NotFound when there is none."""
        found = self.filter(revision=revision).first()
        if found is None:
            raise NotFound(f"There is no offer {revision} of this ticket.")
        return found


class Offer(Stateful):
    """One revision of what infra proposes for the undecided lines of a ticket; at most one of a ticket is open.

    `question` is what the team asked about it: while it has no answer (`asked_at` is set), the desk has to act and the
    offer does not lapse.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="offers")
    revision = models.PositiveIntegerField()
    note = models.TextField(default="", blank=True)
    made_at = models.DateTimeField(default=now)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    expires_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, blank=True)
    question = models.TextField(default="", blank=True)
    words = models.TextField(default="", blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    objects = OfferQuerySet.as_manager()

    class Meta:
        ordering = ["ticket_id", "-revision"]
        constraints = [
            status_check(OFFER, "offer_status_known"),
            models.UniqueConstraint(fields=["ticket", "revision"], name="offer_revision_once"),
            models.UniqueConstraint(
                fields=["ticket"], name="offer_one_open", condition=Q(status=OfferState.OPEN)
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("made_at")), name="offer_expires_later"),
            models.CheckConstraint(
                condition=Q(status=OfferState.OPEN, closed_at=None)
                | (~Q(status=OfferState.OPEN) & Q(closed_at__isnull=False)),
                name="offer_closed_has_when",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="offer_due", condition=Q(status=OfferState.OPEN)),
        ]

    def __str__(self) -> str:
        return f"{self.ticket_id} offer {self.revision}"

    @property
    def is_open(self) -> bool:
        """True while the team can take it."""
        return self.status == OfferState.OPEN


class OfferLine(models.Model):
    """What an offer proposes for one line: `now_qty` at once and `later_qty` on `later_on`, with what it costs and brings.

    `cost_per_month` is in `currency`, NULL when no price is known; `relief_days` are days from the offer to the first part of
    it. Both and `reliability` are kept with the decision. `hold_now` and `hold_later` are the quota set aside for it.
    """

    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="lines")
    line = models.ForeignKey(Line, on_delete=models.PROTECT, related_name="offered")
    kind = models.CharField(max_length=8, choices=OfferKind)
    now_qty = models.PositiveIntegerField(default=0)
    later_qty = models.PositiveIntegerField(default=0)
    later_on = models.DateField(null=True, blank=True)
    instead_sku = models.CharField(max_length=60, default="", blank=True)
    instead_label = models.CharField(max_length=200, default="", blank=True)
    reason_code = models.CharField(max_length=40, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    nearest_yes = models.TextField(default="", blank=True)
    cost_per_month = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3, default="", blank=True)
    relief_days = models.PositiveIntegerField(null=True, blank=True)
    reliability = models.CharField(max_length=12, choices=Reliability, default=Reliability.STANDARD)
    hold_now = models.ForeignKey(Hold, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    hold_later = models.ForeignKey(Hold, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    reply = models.CharField(max_length=10, choices=Reply, default=Reply.NONE, blank=True)
    counter_qty = models.PositiveIntegerField(null=True, blank=True)
    counter_on = models.DateField(null=True, blank=True)
    counter_words = models.TextField(default="", blank=True)

    class Meta:
        ordering = ["offer_id", "line__position"]
        constraints = [
            models.UniqueConstraint(fields=["offer", "line"], name="offer_line_once"),
            models.CheckConstraint(condition=Q(kind__in=OfferKind.values), name="offer_line_kind_known"),
            models.CheckConstraint(
                condition=Q(reliability__in=Reliability.values), name="offer_line_class_known"
            ),
            models.CheckConstraint(
                condition=Q(kind=OfferKind.NO, now_qty=0, later_qty=0)
                | (~Q(kind=OfferKind.NO) & (Q(now_qty__gte=1) | Q(later_qty__gte=1))),
                name="offer_line_offers_something",
            ),
            models.CheckConstraint(
                condition=Q(later_qty=0, later_on=None) | Q(later_qty__gte=1, later_on__isnull=False),
                name="offer_line_rest_has_a_day",
            ),
            models.CheckConstraint(
                condition=~Q(kind=OfferKind.NO) | ~Q(reason_code=""), name="offer_line_no_has_a_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.offer_id}/{self.line_id}: {self.kind}"

    @property
    def quantity(self) -> int:
        """All of it, now and later."""
        return self.now_qty + self.later_qty


class PromiseQuerySet(models.QuerySet["Promise"]):
    """Promises by who may see them and by what is due."""

    def visible_to(self, user: Reader) -> PromiseQuerySet:
        """Those of visible tickets."""
        return self.filter(of_visible_tickets(user, "line__ticket"))

    def living(self) -> PromiseQuerySet:
        """Those that somebody waits for."""
        return self.filter(status__in=LIVING)


class Promise(Stateful):
    """`quantity` of a line for a day. A moved promise is replaced by a new one; the first one's day is what is measured.

    `first_due_on` is the day of the first promise of the chain. `hold` is the quota set aside for it, `order_ref` the order
    that keeps it.
    """

    line = models.ForeignKey(Line, on_delete=models.PROTECT, related_name="promises")
    quantity = models.PositiveIntegerField()
    due_on = models.DateField()
    first_due_on = models.DateField()
    replaces = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="replaced_by"
    )
    reason = models.TextField(default="", blank=True)
    made_at = models.DateTimeField(default=now)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    hold = models.ForeignKey(Hold, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    order_ref = models.CharField(max_length=24, default="", blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    kept_at = models.DateTimeField(null=True, blank=True)

    objects = PromiseQuerySet.as_manager()

    class Meta:
        ordering = ["due_on", "id"]
        constraints = [
            status_check(PROMISE, "promise_status_known"),
            models.CheckConstraint(condition=Q(quantity__gte=1), name="promise_of_something"),
            models.CheckConstraint(
                condition=Q(status=PromiseState.KEPT, kept_at__isnull=False)
                | (~Q(status=PromiseState.KEPT) & Q(kept_at=None)),
                name="promise_kept_has_when",
            ),
            models.CheckConstraint(
                condition=Q(replaces=None) | ~Q(reason=""), name="promise_moved_has_a_reason"
            ),
        ]
        indexes = [
            models.Index(fields=["due_on", "id"], name="promise_due", condition=Q(status__in=LIVING)),
            models.Index(fields=["order_ref"], name="promise_order", condition=~Q(order_ref="")),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} of {self.line_id} on {self.due_on}"

    def is_overdue(self, today: date) -> bool:
        """True when the day has passed and it isn't kept."""
        return self.status in LIVING and self.due_on < today
