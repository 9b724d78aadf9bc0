"""What is kept of a job? The job, its nodes' endings, its events, and who holds a node while it runs."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from portal.kernel.clock import now
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref
from provisioning.fleet.models import Node
from provisioning.jobs.job_sets import JobQuerySet
from provisioning.jobs.months import first_of_month, this_month
from provisioning.jobs.states import ENDED, JOB_MACHINE, OWNED, WHOLE, Ending, JobState, Reason, plain
from provisioning.orders.models import Order

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

HEADS = ["play", "stats", "task"]  # kinds of events that begin a part of the log
HELD, OVER = plain(sorted(OWNED)), plain(sorted(ENDED))


class Job(Stateful):
    """One run of one playbook on some nodes.

    `attempt` and `adoptions` are the fencing token: every write of a worker names them, so one whose job was run again,
    or whose child was taken over, writes nothing. `mark` is in the environment of every process of the attempt. `waiting_for` says why it is still queued.

    A *whole* (`plan` is set) is what people see of its shards, jobs that each run on some of its nodes. `wave` is the present
    one of a whole and the one a shard belongs to; `shard` counts through the whole.
    """

    playbook = models.CharField(max_length=40)
    purpose = models.CharField(max_length=200)
    order = models.ForeignKey(Order, null=True, blank=True, on_delete=models.PROTECT, related_name="jobs")
    cluster_ref = models.CharField(max_length=24, default="", blank=True)
    relaunch_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="relaunches"
    )
    whole = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="shards")
    wave = models.PositiveSmallIntegerField(null=True, blank=True)
    shard = models.PositiveSmallIntegerField(null=True, blank=True)
    plan = models.JSONField(null=True, blank=True)
    variables = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(default=now)
    queue = models.CharField(max_length=30, default="jobs")
    priority = models.SmallIntegerField(default=0)
    waiting_for = models.CharField(max_length=300, default="", blank=True)
    announced_at = models.DateTimeField(null=True, blank=True)
    announced_times = models.PositiveIntegerField(default=0)

    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveSmallIntegerField(default=1)
    claimed_by = models.CharField(max_length=120, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    mark = models.CharField(max_length=60, default="", blank=True)
    hand_back = models.BooleanField(default=False)
    adoptions = models.PositiveSmallIntegerField(default=0)

    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    cancel_reason = models.CharField(max_length=200, default="", blank=True)
    forced_at = models.DateTimeField(null=True, blank=True)
    forced_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    reason = models.CharField(max_length=20, default="", blank=True)
    reason_text = models.CharField(max_length=500, default="", blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    playbook_hash = models.CharField(max_length=64, default="", blank=True)
    inventory_hash = models.CharField(max_length=64, default="", blank=True)
    versions = models.JSONField(default=dict)
    expected_tasks = models.PositiveIntegerField(null=True, blank=True)
    forks = models.PositiveSmallIntegerField(null=True, blank=True)
    bytes_kept = models.PositiveBigIntegerField(default=0)
    bytes_dropped = models.PositiveBigIntegerField(default=0)

    host_results: RelatedManager[HostResult]
    events: RelatedManager[JobEvent]
    node_leases: RelatedManager[NodeLease]

    objects: ClassVar[models.Manager[Job]] = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(JOB_MACHINE, "job_status_known"),
            models.CheckConstraint(condition=Q(reason__in=plain(Reason)), name="job_reason_known"),
            models.CheckConstraint(condition=Q(max_attempts__gte=1), name="job_has_an_attempt"),
            models.CheckConstraint(
                condition=~Q(status__in=HELD)
                | (Q(lease_until__isnull=False) & Q(attempt__gte=1) & ~Q(mark="")),
                name="job_owned_has_lease",
            ),
            models.CheckConstraint(
                condition=Q(status__in=OVER, ended_at__isnull=False)
                | (~Q(status__in=OVER) & Q(ended_at__isnull=True)),
                name="job_ended_has_end",
            ),
            models.UniqueConstraint(fields=["whole", "shard"], name="job_shard_once"),
            models.CheckConstraint(
                condition=Q(whole=None, shard=None)
                | Q(whole__isnull=False, shard__isnull=False, wave__isnull=False, plan__isnull=True),
                name="job_shard_has_its_place",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=plain(sorted(WHOLE))) | Q(plan__isnull=False, wave__isnull=False),
                name="job_whole_has_a_plan",
            ),
        ]
        indexes = [
            models.Index(fields=["status", "-id"], name="job_status"),
            models.Index(
                fields=["-priority", "id"], name="job_queue", condition=Q(status=JobState.QUEUED.value)
            ),
            models.Index(fields=["lease_until"], name="job_lease", condition=Q(status__in=HELD)),
            models.Index(fields=["playbook", "-id"], name="job_playbook"),
            models.Index(fields=["reason", "-id"], name="job_reason", condition=~Q(reason="")),
            models.Index(fields=["ended_at"], name="job_ended_at"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.playbook}"

    @property
    def ref(self) -> str:
        """`J-12`."""
        return format_ref("J", self.pk)

    @property
    def month(self) -> date:
        """The month whose part of the events' table holds all of its events."""
        return first_of_month(self.created_at)

    @property
    def is_ended(self) -> bool:
        """True when nothing of it runs."""
        return self.status in ENDED

    @property
    def is_whole(self) -> bool:
        return self.plan is not None

    @property
    def is_owned(self) -> bool:
        """True while a worker holds it."""
        return self.status in OWNED

    @property
    def targets_attempt(self) -> int:
        """The attempt whose host results say what the job is about: the one that comes, runs or ran."""
        return self.attempt + 1 if self.status == JobState.QUEUED else max(self.attempt, 1)


class HostResult(models.Model):
    """How one attempt of a job goes on one node. Made before the start, so nothing is ever unaccounted for."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="host_results")
    attempt = models.PositiveIntegerField()
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="job_results")
    ending = models.CharField(max_length=14, default=Ending.WAITING.value)
    tasks_done = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    last_task = models.CharField(max_length=200, default="", blank=True)
    last_event_at = models.DateTimeField(null=True, blank=True)
    first_failure = models.TextField(default="", blank=True)
    first_failure_counter = models.PositiveIntegerField(null=True, blank=True)
    data = models.JSONField(default=dict)
    data_truncated = models.BooleanField(default=False)

    class Meta:
        ordering = ["node_id"]
        constraints = [
            models.UniqueConstraint(fields=["job", "attempt", "node"], name="host_result_once"),
            models.CheckConstraint(condition=Q(ending__in=plain(Ending)), name="host_result_ending_known"),
        ]
        indexes = [models.Index(fields=["node", "-id"], name="host_result_node")]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.attempt} on {self.node_id}: {self.ending}"


class JobEvent(models.Model):
    """One thing the playbook said. (job, attempt, counter) is contiguous: a gap would be a loss.

    The table is cut into months (`partitions.py`), and `month` is the one the job was made in, so a job lies in one
    part. `on_disk`: what the row has no room for is in the attempt's overflow (`overflow.py`).
    """

    pk = models.CompositePrimaryKey("job_id", "attempt", "counter", "month")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events", db_index=False)
    month = models.DateField(default=this_month)
    attempt = models.PositiveIntegerField()
    counter = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    host = models.CharField(max_length=255, default="", blank=True)
    play = models.CharField(max_length=200, default="", blank=True)
    task = models.CharField(max_length=200, default="", blank=True)
    changed = models.BooleanField(default=False)
    failed = models.BooleanField(default=False)
    text = models.TextField(default="", blank=True)
    data = models.JSONField(default=dict)
    truncated = models.BooleanField(default=False)
    on_disk = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["job", "attempt", "counter"]
        constraints = [
            models.CheckConstraint(condition=Q(counter__gte=1), name="job_event_counts_from_one"),
        ]
        indexes = [
            models.Index(
                fields=["job", "attempt", "counter"], name="job_event_failed", condition=Q(failed=True)
            ),
            models.Index(
                fields=["job", "attempt", "counter"], name="job_event_head", condition=Q(kind__in=HEADS)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.attempt}#{self.counter} {self.kind}"


class NodeLease(models.Model):
    """A node is this job's alone. The partial unique index is what keeps two jobs off one node.

    `draining_since`: the attempt has ended, but nobody has seen yet that the node is quiet. `probes` counts the looks
    and fences them: what a look found is written only while its number is the last one.
    """

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="job_leases")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="node_leases")
    attempt = models.PositiveIntegerField()
    taken_at = models.DateTimeField(default=now)
    released_at = models.DateTimeField(null=True, blank=True)
    mark = models.CharField(max_length=60, default="", blank=True)
    draining_since = models.DateTimeField(null=True, blank=True)
    drain_because = models.CharField(max_length=200, default="", blank=True)
    probes = models.PositiveIntegerField(default=0)
    probe_after = models.DateTimeField(null=True, blank=True)
    probe_said = models.CharField(max_length=300, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node"], name="node_has_one_running_job", condition=Q(released_at__isnull=True)
            ),
            models.UniqueConstraint(fields=["job", "attempt", "node"], name="node_lease_once"),
            models.CheckConstraint(
                condition=Q(draining_since__isnull=True) | Q(probe_after__isnull=False),
                name="node_lease_draining_is_looked_at",
            ),
        ]
        indexes = [
            models.Index(
                fields=["probe_after"],
                name="node_lease_to_look_at",
                condition=Q(released_at__isnull=True, draining_since__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.node_id} held by {self.job_id}/{self.attempt}"


class NodeHostKey(models.Model):
    """A host key that a node showed at its first contact; later jobs accept no other."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="host_keys")
    key_type = models.CharField(max_length=60)
    key = models.TextField()
    learned_at = models.DateTimeField(default=now)
    learned_by = models.ForeignKey(
        Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="learned_host_keys"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "key_type"], name="host_key_once")]

    def __str__(self) -> str:
        return f"{self.key_type} of {self.node_id}"
