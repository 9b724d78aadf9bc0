"""What is in the fleet? SKUs, racks, nodes, clusters, and who holds which node for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref
from provisioning.contracts import VerdictValue
from provisioning.fleet.sites import LONGEST as LONGEST_SITE
from provisioning.fleet.states import CLUSTER, LIVING, NODE, ClusterState, NodeState

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

    from provisioning.jobs.models import NodeLease
    from provisioning.orders.models import Order

VERDICTS = [verdict.value for verdict in VerdictValue]

host_name_shape = RegexValidator(
    r"\A(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z",
    "Use an RFC 1123 host name: small letters, digits, hyphens and dots.",
)


class Connection(models.TextChoices):
    """How Ansible reaches a node."""

    SSH = "ssh"
    SIMULATED = "simulated"


class Sku(models.Model):
    """A kind of node, loaded from its data file. `spares_kept` None keeps back only nodes marked as spare."""

    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=120)
    gpu_model = models.CharField(max_length=120)
    gpus_per_node = models.PositiveSmallIntegerField()
    memory_mib = models.PositiveIntegerField()
    driver_version = models.CharField(max_length=40, default="", blank=True)
    spares_kept = models.PositiveSmallIntegerField(null=True, blank=True)
    data = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64)
    loaded_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["slug"]
        constraints = [models.CheckConstraint(condition=Q(gpus_per_node__gte=1), name="sku_has_gpus")]

    def __str__(self) -> str:
        return self.name


class Rack(models.Model):
    """Where nodes stand."""

    name = models.CharField(max_length=60, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class NodeQuerySet(models.QuerySet["Node"]):
    """Nodes by who may see them and what can be done with them."""

    def visible_to(self, user: User | AnonymousUser) -> NodeQuerySet:
        """All for infra staff; for everybody else those of their teams' clusters."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.is_infra:
            return self
        held = Reservation.objects.filter(
            node=OuterRef("pk"), released_at=None, cluster__team__memberships__user=user
        )
        return self.filter(Exists(held))

    def in_service(self) -> NodeQuerySet:
        """Without an open hold."""
        return self.filter(~Exists(Hold.objects.filter(node=OuterRef("pk"), closed_at=None)))

    def quiet(self) -> NodeQuerySet:
        """Without an ended job of which something may still run there."""
        leases = self.model._meta.get_field("job_leases").related_model
        draining = leases._default_manager.filter(released_at=None, draining_since__isnull=False)
        return self.filter(~Exists(draining.filter(node=OuterRef("pk"))))

    def placeable(self) -> NodeQuerySet:
        """Free, in service, quiet, and not known to be unfit."""
        return (
            self.in_service()
            .quiet()
            .filter(status=NodeState.FREE, needs_wipe=False)
            .exclude(verdict=VerdictValue.UNFIT)
        )


class Node(Stateful):
    """A machine with GPUs. `speed` is node/baseline of its slowest metric; None: never measured. `site`: whose workers reach it.

    `needs_wipe` is set while a team's accounts or data may be on it; such a node never goes to somebody else.
    """

    name = models.CharField(max_length=253, unique=True, validators=[host_name_shape])
    address = models.CharField(max_length=253)
    sku = models.ForeignKey(Sku, on_delete=models.PROTECT, related_name="nodes")
    rack = models.ForeignKey(Rack, null=True, blank=True, on_delete=models.PROTECT, related_name="nodes")
    site = models.CharField(max_length=LONGEST_SITE, default="", blank=True)
    connection = models.CharField(max_length=10, choices=Connection, default=Connection.SSH)
    ansible_user = models.CharField(max_length=32, default="", blank=True)
    ansible_port = models.PositiveIntegerField(null=True, blank=True)
    python_interpreter = models.CharField(max_length=200, default="", blank=True)
    node_root = models.CharField(max_length=400, default="", blank=True)
    simulated_node_dir = models.CharField(max_length=400, default="", blank=True)
    simulated = models.BooleanField(default=False)
    spare = models.BooleanField(default=False)
    facts = models.JSONField(default=dict, blank=True)
    verdict = models.CharField(max_length=12, null=True, blank=True)
    verdict_at = models.DateTimeField(null=True, blank=True)
    speed = models.FloatField(null=True, blank=True)
    needs_wipe = models.BooleanField(default=False)
    registered_at = models.DateTimeField(default=now)

    reservations: RelatedManager[Reservation]
    holds: RelatedManager[Hold]
    job_leases: RelatedManager[NodeLease]

    objects = NodeQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            status_check(NODE, "node_status_known"),
            models.CheckConstraint(
                condition=Q(connection__in=Connection.values), name="node_connection_known"
            ),
            models.CheckConstraint(
                condition=Q(verdict=None) | Q(verdict__in=VERDICTS), name="node_verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(connection=Connection.SSH) | (Q(simulated=True) & ~Q(simulated_node_dir="")),
                name="node_simulated_says_so",
            ),
            models.CheckConstraint(
                condition=Q(ansible_port=None) | Q(ansible_port__range=(1, 65535)), name="node_port_in_range"
            ),
            models.CheckConstraint(condition=Q(speed=None) | Q(speed__gte=0), name="node_speed_not_negative"),
            models.CheckConstraint(
                condition=~Q(status=NodeState.FREE) | Q(needs_wipe=False), name="node_free_is_wiped"
            ),
        ]
        indexes = [models.Index(fields=["sku", "status"], name="node_sku_status")]

    def __str__(self) -> str:
        return self.name


class ClusterQuerySet(models.QuerySet["Cluster"]):
    """Clusters by who may see them."""

    def visible_to(self, user: User | AnonymousUser) -> ClusterQuerySet:
        """All for infra staff, those of their teams for everybody else."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(team__in=user.teams())

    def living(self) -> ClusterQuerySet:
        """Building, ready or releasing."""
        return self.filter(status__in=LIVING)


class Cluster(Stateful):
    """Nodes that work for one team. `setup` keeps what was put on the nodes, so that a release can take it off."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40)
    sku = models.ForeignKey(Sku, on_delete=models.PROTECT, related_name="clusters")
    setup = models.JSONField(default=dict)
    lease_end = models.DateTimeField(null=True, blank=True)
    lease_warned_days = models.PositiveSmallIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)
    ready_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    verdict = models.CharField(max_length=12, null=True, blank=True)
    verdict_at = models.DateTimeField(null=True, blank=True)
    speed = models.FloatField(null=True, blank=True)
    slowest_node = models.CharField(max_length=253, default="", blank=True)
    gpu_hours_lost_per_day = models.FloatField(null=True, blank=True)
    busbw_gbps = models.FloatField(null=True, blank=True)

    reservations: RelatedManager[Reservation]
    orders: RelatedManager[Order]

    objects = ClusterQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(CLUSTER, "cluster_status_known"),
            models.CheckConstraint(
                condition=Q(verdict=None) | Q(verdict__in=VERDICTS), name="cluster_verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(speed=None) | Q(speed__gte=0), name="cluster_speed_not_negative"
            ),
            models.UniqueConstraint(
                fields=["team", "name"],
                condition=~Q(status__in=[ClusterState.RELEASED, ClusterState.FAILED]),
                name="cluster_name_once_per_team",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "status"], name="cluster_team_status"),
            models.Index(fields=["sku", "status"], name="cluster_sku_status"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.name}"

    @property
    def ref(self) -> str:
        """`C-17`."""
        return format_ref("C", self.pk)


class Reservation(models.Model):
    """A node held by an order for a while; the database refuses a second one for the same time.

    `period` is open-ended until the node is given back: a lease that has run out still holds its nodes.
    """

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="reservations")
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.PROTECT, related_name="reservations"
    )
    order = models.ForeignKey("provisioning.Order", on_delete=models.PROTECT, related_name="reservations")
    period = DateTimeRangeField()
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            ExclusionConstraint(
                name="nobody_gets_the_same_node_twice",
                expressions=[("node", RangeOperators.EQUAL), ("period", RangeOperators.OVERLAPS)],
            ),
            models.CheckConstraint(
                condition=Q(released_at=None, period__upper_inf=True)
                | Q(released_at__isnull=False, period__upper_inf=False, period__endswith=F("released_at")),
                name="reservation_ends_when_released",
            ),
        ]
        indexes = [
            models.Index(fields=["cluster"], name="reservation_open", condition=Q(released_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} for {self.order_id}"


class Hold(models.Model):
    """A reason for a node to be out of service. `owner` says which part of the house may close it."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="holds")
    owner = models.CharField(max_length=30)
    reason_code = models.CharField(max_length=40)
    reason = models.TextField()
    evidence = models.JSONField(default=dict, blank=True)
    opened_at = models.DateTimeField(default=now)
    opened_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    closing_note = models.TextField(default="", blank=True)

    class Meta:
        ordering = ["-opened_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["node", "owner", "reason_code"], condition=Q(closed_at=None), name="hold_open_once"
            ),
        ]
        indexes = [models.Index(fields=["node"], name="hold_open", condition=Q(closed_at=None))]

    def __str__(self) -> str:
        return f"{self.node_id}: {self.reason_code}"
