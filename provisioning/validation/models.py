"""What is kept of a judgement? The report, its findings, the measurements behind it, and the baseline it leaned on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.clock import now
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster, Node
from provisioning.jobs.models import Job
from provisioning.validation.finding import FindingLevel

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

VERDICTS = [verdict.value for verdict in VerdictValue]


class Kind(models.TextChoices):
    """Why a node was measured."""

    SWEEP = "sweep"
    CONFIRM = "confirm"


class Baseline(models.Model):
    """What healthy nodes reached at one moment. Never edited: other content has another key."""

    key = models.CharField(max_length=40, unique=True)
    data = models.JSONField()
    built_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.key


class ReportQuerySet(models.QuerySet["Report"]):
    """Reports by who may see their node and their job."""

    def visible_to(self, user: User | AnonymousUser) -> ReportQuerySet:
        """Those of visible nodes by visible jobs: what a node told while another team had it is that team's."""
        if isinstance(user, User) and user.is_active and user.is_infra:
            return self
        nodes = Node.objects.visible_to(user)
        return self.filter(node__in=nodes, job__in=Job.objects.visible_to(user))


class Report(models.Model):
    """One node, judged once. `speed` is node/baseline of its slowest binding metric; `scores`, `references` and `ratios`
    are by metric. `suspected_of` are metrics to measure again, `verdict_aside` is the verdict without these suspicions. The
    raw evidence stays with the job, so that it can be judged again."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="reports")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="reports")
    kind = models.CharField(max_length=8, choices=Kind)
    taken_at = models.DateTimeField()
    judged_at = models.DateTimeField(default=now)
    verdict = models.CharField(max_length=12)
    reasons = models.JSONField(default=list)
    speed = models.FloatField(null=True, blank=True)
    scores = models.JSONField(default=dict)
    references = models.JSONField(default=dict)
    ratios = models.JSONField(default=dict)
    suspected_of = models.JSONField(default=list)
    verdict_aside = models.CharField(max_length=12)
    slow = models.BooleanField(default=False)
    stratum = models.JSONField(default=list)
    versions = models.JSONField(default=dict)
    simulated = models.BooleanField(default=False)
    baseline = models.ForeignKey(Baseline, on_delete=models.PROTECT, related_name="+")
    policy_version = models.CharField(max_length=40)

    findings: RelatedManager[Finding]
    measurements: RelatedManager[Measurement]

    objects = ReportQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["job", "node"], name="report_once"),
            models.CheckConstraint(
                condition=Q(verdict__in=VERDICTS) & Q(verdict_aside__in=VERDICTS), name="report_verdict_known"
            ),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="report_kind_known"),
        ]
        indexes = [models.Index(fields=["node", "-id"], name="report_node")]

    def __str__(self) -> str:
        return f"{self.node_id}: {self.verdict} in {self.job_id}"


class Finding(models.Model):
    """One answer of one check about one device, with what it looked at."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="findings")
    check_id = models.CharField(max_length=60)
    device = models.CharField(max_length=60)
    level = models.CharField(max_length=12)
    message = models.TextField()
    observed = models.TextField(default="", blank=True)
    expected = models.TextField(default="", blank=True)
    evidence = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(level__in=[level.value for level in FindingLevel]), name="finding_level_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.check_id} {self.device}: {self.level}"


class Measurement(models.Model):
    """One number that a node produced: which metric of which device in which repeat, in `unit`."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="measurements")
    metric = models.CharField(max_length=40)
    device = models.CharField(max_length=60)
    run = models.PositiveSmallIntegerField(default=1)
    value = models.FloatField()
    unit = models.CharField(max_length=16)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["metric", "report"], name="measurement_metric")]

    def __str__(self) -> str:
        return f"{self.metric} {self.device} {self.value:g} {self.unit}"


class ClusterReport(models.Model):
    """The nodes of a cluster measured as one: bus bandwidth of an all-reduce over all its GPUs, in GB/s."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="reports")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="cluster_report")
    judged_at = models.DateTimeField(default=now)
    verdict = models.CharField(max_length=12)
    reasons = models.JSONField(default=list)
    busbw_gbps = models.FloatField(null=True, blank=True)
    expected_gbps = models.FloatField(null=True, blank=True)
    runs = models.PositiveSmallIntegerField(default=0)
    spread = models.FloatField(null=True, blank=True)
    correct = models.BooleanField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(verdict__in=VERDICTS), name="cluster_report_verdict_known")
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id}: {self.verdict}"
