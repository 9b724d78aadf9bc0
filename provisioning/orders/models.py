"""What was provisioning asked to do, on which nodes, and which jobs did it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref
from provisioning.contracts import OrderKind
from provisioning.fleet.models import Cluster, Node
from provisioning.orders.progress import Stage
from provisioning.orders.states import FINAL, ORDER

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager


class OrderQuerySet(models.QuerySet["Order"]):
    """Orders by who may see them."""

    def visible_to(self, user: User | AnonymousUser) -> OrderQuerySet:
        """All for infra staff, those of their teams for everybody else."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(team__in=user.teams())

    def unfinished(self) -> OrderQuerySet:
        """Not ready, released, failed or cancelled."""
        return self.exclude(status__in=FINAL)


class Order(Stateful):
    """One thing that provisioning is asked to do. `requested_for` is opaque: whoever asked knows what it means.

    `team` is None only for a recheck of a node, which no team asked for. `spec` is the OrderSpec as JSON.
    """

    kind = models.CharField(max_length=10)
    requested_for = models.CharField(max_length=60, default="", blank=True)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.PROTECT, related_name="orders"
    )
    spec = models.JSONField(default=dict)
    reason = models.TextField(default="", blank=True)
    swaps_used = models.PositiveSmallIntegerField(default=0)
    placed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    placed_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    assignments: RelatedManager[Assignment]
    runs: RelatedManager[StepRun]

    objects = OrderQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(ORDER, "order_status_known"),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in OrderKind]), name="order_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, status__in=[s for s in ORDER.states if s not in FINAL])
                | Q(ended_at__isnull=False, status__in=FINAL),
                name="order_ended_when_final",
            ),
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(ended_at=None), name="order_one_at_a_time_per_cluster"
            ),
        ]
        indexes = [
            models.Index(fields=["requested_for"], name="order_requested_for"),
            models.Index(fields=["status", "id"], name="order_status"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.kind}"

    @property
    def ref(self) -> str:
        """`O-12`."""
        return format_ref("O", self.pk)

    @property
    def is_final(self) -> bool:
        """True when nothing more happens."""
        return self.status in FINAL


class AssignmentState(models.TextChoices):
    """What a node is to its order."""

    ACTIVE = "active"
    SWAPPED_OUT = "swapped_out"
    RELEASED = "released"


class Assignment(models.Model):
    """A node in an order. `touched` is set as soon as a job may have changed the node."""

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="assignments")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=12, choices=AssignmentState, default=AssignmentState.ACTIVE)
    stage = models.CharField(max_length=12, default=Stage.CHOSEN.value)
    touched = models.BooleanField(default=False)
    tries = models.PositiveSmallIntegerField(default=0)
    suspected_of = models.JSONField(default=list, blank=True)
    replaces = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="replaced_by"
    )
    reason = models.TextField(default="", blank=True)
    evidence = models.JSONField(default=dict, blank=True)
    assigned_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["order", "node"], name="assignment_once"),
            models.CheckConstraint(
                condition=Q(state__in=AssignmentState.values), name="assignment_state_known"
            ),
            models.CheckConstraint(
                condition=Q(stage__in=[stage.value for stage in Stage]), name="assignment_stage_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} in {self.order_id}"


class StepRun(models.Model):
    """One job that an order asked for, as one try of one of its steps. An order waits for at most one at a time."""

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="runs")
    step = models.CharField(max_length=12)
    job = models.OneToOneField("provisioning.Job", on_delete=models.PROTECT, related_name="step_run")
    node_names = models.JSONField(default=list)
    started_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    ended_well = models.BooleanField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["order"], condition=Q(ended_at=None), name="step_run_one_open_per_order"
            ),
            models.CheckConstraint(condition=Q(done__lte=models.F("total")), name="step_run_done_of_total"),
        ]

    def __str__(self) -> str:
        return f"{self.step} of {self.order_id}"
