"""What does a ticket ask for, line by line, and what became of each? Tables; what happens to them is in `lines`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from portal.kernel.refs import format_ref
from requests_app.tickets.deriving import LineFacts


class LineVerdict(models.TextChoices):
    """What became of one asked thing: not decided, yes, no from the desk, or taken back by the team."""

    PENDING = "pending"
    GRANTED = "granted"
    DECLINED = "declined"
    DROPPED = "dropped"


class LineWhat(models.TextChoices):
    """What a line asks for."""

    NODES = "nodes"
    GPUS = "gpus"
    ITEM = "item"


class Line(models.Model):
    """One asked thing, in `unit`. `granted_qty` is NULL until decided; 0 is a decided nothing.

    What is granted is spread over `ordered_qty` (an order runs), `promised_qty` (promised for a day), `delivered_qty` and
    `given_up_qty`; the rest waits for hands. `offered_qty` is what the newest offer says of it; `in_offer` is true while
    that one is open, and `awaits_team` while it waits for the team's word and not for the desk's. `granted_sku` and `granted_label` say what was given instead. A verdict
    is kept for ever: a line that came back is decided in another `round`, and the earlier one stays in its decisions.
    `days` is how long it is wanted from the decision on, NULL for good; `asks` are the answers its fulfilment needs.
    """

    ticket = models.ForeignKey("requests_app.Ticket", on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveSmallIntegerField()
    what = models.CharField(max_length=8, choices=LineWhat)
    fulfilment = models.CharField(max_length=20, default="manual")
    asks: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict, blank=True)
    sku = models.CharField(max_length=60, default="", blank=True)
    label = models.CharField(max_length=200)
    unit = models.CharField(max_length=20, default="", blank=True)
    asked_qty = models.PositiveIntegerField()
    wanted_by = models.DateField(null=True, blank=True)
    days = models.PositiveIntegerField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)

    offered_qty = models.PositiveIntegerField(null=True, blank=True)
    in_offer = models.BooleanField(default=False)
    awaits_team = models.BooleanField(default=False)

    verdict = models.CharField(max_length=10, choices=LineVerdict, default=LineVerdict.PENDING)
    granted_qty = models.PositiveIntegerField(null=True, blank=True)
    granted_sku = models.CharField(max_length=60, default="", blank=True)
    granted_label = models.CharField(max_length=200, default="", blank=True)
    reason_code = models.CharField(max_length=40, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    round = models.PositiveSmallIntegerField(default=1)
    returned_at = models.DateTimeField(null=True, blank=True)

    ordered_qty = models.PositiveIntegerField(default=0)
    promised_qty = models.PositiveIntegerField(default=0)
    promised_on = models.DateField(null=True, blank=True)
    delivered_qty = models.PositiveIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True, blank=True)
    given_up_qty = models.PositiveIntegerField(default=0)
    order_ref = models.CharField(max_length=24, default="", blank=True)
    cluster_ref = models.CharField(max_length=24, default="", blank=True)

    class Meta:
        ordering = ["ticket_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["ticket", "position"], name="line_once"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=LineVerdict.values), name="line_verdict_known"
            ),
            models.CheckConstraint(condition=models.Q(what__in=LineWhat.values), name="line_what_known"),
            models.CheckConstraint(condition=models.Q(asked_qty__gte=1), name="line_asks_for_something"),
            models.CheckConstraint(
                condition=models.Q(verdict=LineVerdict.PENDING, granted_qty=None)
                | models.Q(verdict=LineVerdict.GRANTED, granted_qty__gte=1)
                | models.Q(verdict__in=[LineVerdict.DECLINED, LineVerdict.DROPPED], granted_qty=0),
                name="line_verdict_matches_quantity",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    granted_qty__gte=models.F("ordered_qty")
                    + models.F("promised_qty")
                    + models.F("delivered_qty")
                    + models.F("given_up_qty")
                )
                | models.Q(granted_qty=None, ordered_qty=0, promised_qty=0, delivered_qty=0, given_up_qty=0),
                name="line_gives_what_is_granted",
            ),
        ]
        indexes = [
            models.Index(fields=["order_ref"], name="line_order", condition=~models.Q(order_ref="")),
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.asked_qty} {self.label}"

    @property
    def source(self) -> str:
        """Names this line in quota ledgers and orders: `T-12/1`."""
        return f"{format_ref('T', self.ticket_id)}/{self.position}"

    @property
    def facts(self) -> LineFacts:
        """What the ticket's state derives from."""
        return LineFacts(
            verdict=self.verdict,
            granted=self.granted_qty or 0,
            ordered=self.ordered_qty,
            promised=self.promised_qty,
            delivered=self.delivered_qty,
            given_up=self.given_up_qty,
            awaits_team=self.awaits_team,
            returned=self.returned_at is not None,
        )

    @property
    def by_hand_qty(self) -> int:
        """What people still have to hand over."""
        return self.facts.by_hand

    @property
    def sku_now(self) -> str:
        """The kind of node it is about: what was granted instead, or what was asked."""
        return self.granted_sku or self.sku


class LineDecision(models.Model):
    """A verdict on a line, one per round. Append-only: a trigger refuses to change or delete it."""

    line = models.ForeignKey(Line, on_delete=models.PROTECT, related_name="decisions")
    round = models.PositiveSmallIntegerField()
    verdict = models.CharField(max_length=10, choices=LineVerdict)
    granted_qty = models.PositiveIntegerField()
    reason_code = models.CharField(max_length=40, default="", blank=True)
    reason = models.TextField(default="", blank=True)
    decided_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["line_id", "round"]
        constraints = [models.UniqueConstraint(fields=["line", "round"], name="line_decided_once_a_round")]

    def __str__(self) -> str:
        return f"{self.line_id} round {self.round}: {self.verdict} {self.granted_qty}"
