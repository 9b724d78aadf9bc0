"""Pages of validation: the reports of a node, one report, and the raw output behind a finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from provisioning.fleet.listing import node_by_name
from provisioning.validation import queries, shown, telling
from provisioning.validation.drawing import metric_figure
from provisioning.validation.models import Report

LONGEST_RUN = 4


@require_GET
@login_required
def reports_list(request: HttpRequest, name: str) -> HttpResponse:
    """The reports of one node, newest first, in pages."""
    user = signed_in(request)
    node = node_by_name(user, name)
    page = page_of(
        queries.reports_of(user, node),
        order=("-id",),
        cursor=request.GET.get("cursor", ""),
        size=queries.PAGE,
        scope=f"reports of {node.pk}",
    )
    context = {
        "node": node,
        "rows": [(report, telling.kind_words(report)) for report in page.rows],
        **pager_links(request, page),
    }
    return render_page(request, "provisioning/validation/reports.html", context, partial="rows")


@require_GET
@login_required
def report_newest(request: HttpRequest, name: str) -> HttpResponse:
    """To the last report of the node; to its empty list where there is none yet."""
    user = signed_in(request)
    node = node_by_name(user, name)
    newest = queries.newest_of(user, node)
    if newest is None:
        return redirect("validation:node", node.name)
    return redirect("validation:report", node.name, newest.pk)


@require_GET
@login_required
def report_detail(request: HttpRequest, name: str, report_id: int) -> HttpResponse:
    """One report: verdict, speed, metrics beside their peers, findings, and where the evidence lies."""
    user = signed_in(request)
    node = node_by_name(user, name)
    report = queries.report_by_id(user, node, report_id)
    source = queries.source_of(report)
    findings = list(report.findings.all())
    metrics = telling.metric_rows(report, findings)
    first = telling.evidence_rows(source, queries.evidence_of(source))
    is_rerun = source.pk != report.pk
    again = telling.evidence_rows(report, queries.evidence_of(report)) if is_rerun else ()
    context = {
        "node": node,
        "report": report,
        "source": source,
        "is_rerun": is_rerun,
        "verdict_words": telling.verdict_words(report.verdict),
        "reasons": [shown.visible(reason) for reason in report.reasons],
        "versions": [(title, shown.visible(version)) for title, version in report.versions.items()],
        "metrics": metrics,
        "groups": telling.groups_of(findings, first),
        "evidence": [
            (title, rows) for title, rows in (("Measured again", again), ("The sweep", first)) if rows
        ],
        **_drawn(request, report, source, metrics),
    }
    return render_page(request, "provisioning/validation/report.html", context)


def _drawn(
    request: HttpRequest, report: Report, source: Report, metrics: Sequence[telling.MetricRow]
) -> dict[str, Any]:
    """The figure of the metric that was asked for, else of the one that binds."""
    wanted = request.GET.get("metric", "")
    measured = [row for row in metrics if row.value is not None]
    if wanted and wanted not in {row.metric for row in metrics}:
        raise Invalid({"metric": ["This report has no such metric."]})
    chosen = next((row for row in measured if row.metric == wanted), telling.binding(report, metrics))
    if chosen is None:
        return {"measured": [], "figure": None, "chosen": None}
    peers = queries.peers_of(source, chosen.metric)
    # The chosen tab comes first, so that a narrow row of tabs never hides it.
    tabs = [chosen, *(row for row in measured if row is not chosen)]
    return {"measured": tabs, "chosen": chosen, "figure": metric_figure(report.node.name, chosen, peers)}


@require_GET
@login_required
def evidence_detail(request: HttpRequest, name: str, report_id: int, evidence_id: str) -> HttpResponse:
    """What one run of one tool printed, as text and nothing else; `?run=2` is its second repeat."""
    user = signed_in(request)
    node = node_by_name(user, name)
    report = queries.report_by_id(user, node, report_id)
    evidence = queries.evidence_with_output(report, evidence_id, _run(request))
    text, left_out = shown.output(evidence.stdout)
    context = {
        "node": node,
        "report": report,
        "evidence": evidence,
        "command": shown.visible(" ".join(evidence.command)),
        "stderr": shown.visible(evidence.stderr),
        "text": text,
        "left_out": left_out,
    }
    return render_page(request, "provisioning/validation/evidence.html", context)


def _run(request: HttpRequest) -> int:
    text = request.GET.get("run", "1")
    if not text.isdecimal() or len(text) > LONGEST_RUN:
        raise NotFound("The node sent no such evidence.")
    return int(text)
