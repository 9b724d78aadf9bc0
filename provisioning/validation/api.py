"""The API of validation: the reports of a node, one report with its findings, and the report of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from provisioning.contracts import VerdictValue
from provisioning.fleet.listing import cluster_by_ref, node_by_name
from provisioning.fleet.queries import held_by
from provisioning.fleet.telling import cluster_view
from provisioning.validation import queries
from provisioning.validation.finding import FindingLevel
from provisioning.validation.models import ClusterReport, Finding, Kind, Report
from provisioning.validation.summary import MemberRow, summary_of

READ = Scope.FLEET_READ.value
VERDICTS = [verdict.value for verdict in VerdictValue]


class ReportOutput(serializers.Serializer[Report]):
    """One node, judged once. `speed` is its share of the reference in the slowest metric that bounds work; null: not
    measured. `suspected_of` are metrics to be measured again, `verdict_aside` the verdict without these suspicions."""

    id = serializers.IntegerField()
    node = serializers.CharField(source="node.name")
    job = serializers.CharField(source="job.ref")
    kind = serializers.ChoiceField(choices=Kind.values)
    taken_at = serializers.DateTimeField()
    judged_at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    verdict_aside = serializers.ChoiceField(choices=VERDICTS)
    reasons = serializers.ListField(child=serializers.CharField())
    speed = serializers.FloatField(allow_null=True)
    slow = serializers.BooleanField()
    suspected_of = serializers.ListField(child=serializers.CharField())
    simulated = serializers.BooleanField()


class FindingOutput(serializers.Serializer[Finding]):
    """One answer of one check about one device; `evidence` are references such as `gemm#2` (tool and run)."""

    check_id = serializers.CharField()
    device = serializers.CharField()
    level = serializers.ChoiceField(choices=[level.value for level in FindingLevel])
    message = serializers.CharField()
    observed = serializers.CharField(allow_blank=True)
    expected = serializers.CharField(allow_blank=True)
    evidence = serializers.ListField(child=serializers.CharField())


class ScoreOutput(serializers.Serializer[Any]):
    """One metric: `value` in `unit` of the worst `device`, `spread` of its repeats as a share, the median by device."""

    value = serializers.FloatField()
    unit = serializers.CharField()
    device = serializers.CharField()
    spread = serializers.FloatField()
    runs = serializers.IntegerField()
    by_device = serializers.SerializerMethodField()

    @extend_schema(responses={"type": "object", "additionalProperties": {"type": "number"}})
    def get_by_device(self, score: Mapping[str, Any]) -> dict[str, float]:
        """Device to median."""
        return dict(score["by_device"])


class ReferenceOutput(serializers.Serializer[Any]):
    """What a metric was compared with. Slower than `value` by more than the share `cut` is suspect; `pass_line` is a
    published limit. `origin` is the fleet's baseline, the peers of the sweep, or the SKU's figure."""

    value = serializers.FloatField()
    cut = serializers.FloatField()
    nodes = serializers.IntegerField()
    provisional = serializers.BooleanField()
    origin = serializers.ChoiceField(choices=["fleet", "peers", "sku"])
    pass_line = serializers.FloatField(allow_null=True)


class ReportDetailOutput(ReportOutput):
    """A report with all that was measured and found; scores, references and ratios are by metric."""

    scores = serializers.DictField(child=ScoreOutput())
    references = serializers.DictField(child=ReferenceOutput())
    ratios = serializers.DictField(child=serializers.FloatField())
    findings = FindingOutput(many=True)
    versions = serializers.DictField(child=serializers.CharField(allow_blank=True))
    policy_version = serializers.CharField()
    baseline = serializers.CharField(source="baseline.key")


class CollectiveOutput(serializers.Serializer[ClusterReport]):
    """All nodes measured as one: bus bandwidth of an all-reduce over all GPUs, in GB/s; null: not measured."""

    job = serializers.CharField(source="job.ref")
    judged_at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    reasons = serializers.ListField(child=serializers.CharField())
    busbw_gbps = serializers.FloatField(allow_null=True)
    expected_gbps = serializers.FloatField(allow_null=True)
    runs = serializers.IntegerField()
    spread = serializers.FloatField(allow_null=True)
    correct = serializers.BooleanField(allow_null=True)


class MemberOutput(serializers.Serializer[MemberRow]):
    """One node of the cluster; `report` is the id of its newest report, null where nobody measured it."""

    node = serializers.CharField(source="name")
    verdict = serializers.ChoiceField(choices=VERDICTS, allow_null=True)
    speed = serializers.FloatField(allow_null=True)
    slowest_metric = serializers.CharField(source="metric_id", allow_blank=True)
    report = serializers.SerializerMethodField()

    def get_report(self, row: MemberRow) -> int | None:
        """Its id."""
        return None if row.report is None else row.report.pk


class ClusterReportOutput(serializers.Serializer[Any]):
    """A cluster runs at the `speed` of its slowest node; `words` say what that costs."""

    cluster = serializers.CharField()
    verdict = serializers.ChoiceField(choices=VERDICTS, allow_null=True)
    speed = serializers.FloatField(allow_null=True)
    slowest_node = serializers.CharField(allow_blank=True)
    gpu_hours_lost_per_day = serializers.FloatField(allow_null=True)
    words = serializers.CharField()
    together = CollectiveOutput(allow_null=True)
    nodes = MemberOutput(many=True)


class Reports(generics.ListAPIView[Report]):
    """The reports of a node."""

    serializer_class = ReportOutput
    queryset = Report.objects.none()
    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"verdict"})

    @extend_schema(
        operation_id="nodes_reports_list", parameters=[OpenApiParameter("verdict", str, enum=VERDICTS)]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page, newest first; 404 for a node that isn't the person's to see."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Report]:
        """Narrowed by the filters."""
        user = signed_in(self.request)
        reports = queries.reports_of(user, node_by_name(user, self.kwargs["name"]))
        verdict = self.request.query_params.get("verdict", "")
        if verdict and verdict not in VERDICTS:
            raise Invalid({"verdict": [f"There is no such verdict. Known: {', '.join(VERDICTS)}."]})
        return reports.filter(verdict=verdict) if verdict else reports


class ReportDetail(APIView):
    """One report."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="nodes_reports_show", responses=ReportDetailOutput)
    def get(self, request: Request, name: str, report_id: int) -> Response:
        """The report with findings, scores and what they were compared with."""
        user = signed_in(request)
        report = queries.report_by_id(user, node_by_name(user, name), report_id)
        return Response(ReportDetailOutput(report).data)


class ClusterReportDetail(APIView):
    """How the nodes of a cluster measured, alone and together."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="clusters_report_show", responses=ClusterReportOutput)
    def get(self, request: Request, ref: str) -> Response:
        """The newest report of every node, the slowest first, and the last time they were measured as one."""
        user = signed_in(request)
        cluster = cluster_by_ref(user, ref)
        view = cluster_view(cluster, [held.node for held in held_by(cluster)], order_ref="")
        found = summary_of(user, view)
        answer = {
            "cluster": view.ref,
            "verdict": view.verdict,
            "speed": view.speed,
            "slowest_node": view.slowest_node,
            "gpu_hours_lost_per_day": view.gpu_hours_lost_per_day,
            "words": found.words,
            "together": found.collective,
            "nodes": found.rows,
        }
        return Response(ClusterReportOutput(answer).data)


urlpatterns = [
    path("nodes/<str:name>/reports", Reports.as_view(), name="node-reports"),
    path("nodes/<str:name>/reports/<int:report_id>", ReportDetail.as_view(), name="node-report"),
    path("clusters/<str:ref>/report", ClusterReportDetail.as_view(), name="cluster-report"),
]
