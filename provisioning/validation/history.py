"""What has the fleet shown so far? The baseline of this moment, from what healthy nodes reached."""

from __future__ import annotations

from datetime import timedelta

from portal.kernel.clock import now
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Node
from provisioning.validation.baselines import BaselineSet, ScoreRow, build_baselines
from provisioning.validation.models import Baseline, Kind, Report

MEMORY = timedelta(days=90)
MOST_REPORTS = 20_000


def baseline_now(sku_slug: str) -> Baseline:
    """The baseline of a SKU from every fit report of its nodes in memory; the same content is the same row."""
    reports = Report.objects.filter(
        node__in=Node.objects.filter(sku__slug=sku_slug),
        kind=Kind.SWEEP,
        verdict=VerdictValue.FIT,
        judged_at__gte=now() - MEMORY,
    )
    found = reports.order_by("-id").values_list("node__name", "stratum", "scores")[:MOST_REPORTS]
    rows = [
        ScoreRow(node=node, stratum=tuple(stratum), metric=metric, value=score["value"])
        for node, stratum, scores in found
        for metric, score in scores.items()
    ]
    built = build_baselines(rows)
    return Baseline.objects.get_or_create(key=built.id, defaults={"data": built.to_dict()})[0]


def read(baseline: Baseline) -> BaselineSet:
    """The rules' form of a stored baseline."""
    return BaselineSet.from_dict(baseline.data)
