"""How do requests belong together? One row per pair and kind, read from the source to the target."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from portal.kernel.clock import now
from requests_app.relations.rules import FORWARDS, Kind
from requests_app.tickets.models import Person, Ticket, of_visible_tickets


class RelationQuerySet(models.QuerySet["Relation"]):
    """Relations by who may see both ends."""

    def visible_to(self, user: Person) -> RelationQuerySet:
        """Those of which the reader may see either request; one that leads out of sight isn't there."""
        return self.filter(of_visible_tickets(user, "source"), of_visible_tickets(user, "target"))


class Relation(models.Model):
    """`source` is blocked by, relates to, is a duplicate of or is replaced by `target`."""

    source = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="+")
    target = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=14, choices=[(kind.value, FORWARDS[kind]) for kind in Kind])
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=now)

    objects = RelationQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "target", "kind"], name="relation_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in Kind]), name="relation_kind_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(source=models.F("target")), name="relation_leads_elsewhere"
            ),
            models.UniqueConstraint(
                fields=["source"], condition=models.Q(kind=Kind.DUPLICATE_OF), name="relation_one_canonical"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"
