"""Is a judgement written down whole, whatever words and numbers the node put into it?"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.kernel.clock import now
from provisioning.validation.models import Report
from provisioning.validation.services import judge_sweep
from tests.provisioning.builders import some_nodes
from tests.provisioning.validation.healthy import GPUS, H100, evidence, gemm_text, kernel_log, probe, smi_xml
from tests.provisioning.validation.stored import measured, sent

pytestmark = pytest.mark.django_db
EVIL = "<script>alert(1)</script>\x00\u202e{{ 7*7 }}"


def report_of(told: object) -> Report:
    some_nodes(1)
    return judge_sweep(job=measured({"gpu-001": told}))["gpu-001"]


def test_what_is_stored_is_what_was_judged() -> None:
    report = report_of(sent())
    assert report.scores["gemm_bf16"]["value"] == pytest.approx(769.0)
    assert dict(report.scores["gemm_bf16"]["by_device"]).keys() == {f"gpu:{gpu}" for gpu in range(GPUS)}
    assert report.references["gemm_bf16"]["origin"] == "sku"
    assert report.ratios["gemm_bf16"] == pytest.approx(769.0 / H100.expected["gemm_bf16"].value)
    assert report.versions["driver"] == H100.driver
    assert report.stratum[0] == "h100-sxm5-80g"
    assert report.simulated
    assert report.taken_at == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert report.measurements.filter(metric="nccl_busbw", device="node").count() >= 3
    passed = report.findings.get(check_id="gemm_bf16")
    assert passed.evidence == ["gemm#1", "gemm#2", "gemm#3"]
    assert passed.expected.endswith("below")


HOSTILE: dict[str, dict[str, bytes]] = {
    "kernel": {"kernel": f"6.8{EVIL.replace(' ', '')}\n".encode()},
    "long-kernel": {"kernel": b"6" * 100_000},
    "log": {"kernel-log": kernel_log(f"NVRM: Xid (PCI:0000:1b:00): 79, pid={EVIL}, GPU has fallen off the bus.")},
    "ports": {"ib-sysfs": f"{'m' * 500}/ports/1/state: 1: DOWN{EVIL}\n{EVIL}/ports/1/state: 4: ACTIVE".encode()},
    "mounts": {"mounts": json.dumps({"filesystems": [{"target": f"/{EVIL}", "source": EVIL, "fstype": EVIL, "options": EVIL}]}).encode()},
    "model": {"nvidia-smi-xml": smi_xml().replace(b"NVIDIA H100 80GB HBM3", b"&lt;script&gt;{{ 7*7 }}&#x202e;")},
    "vbios": {"nvidia-smi-xml": smi_xml().replace(H100.vbios.encode(), b"V" * 5000)},
    "garbage": dict.fromkeys(("nvidia-smi-xml", "lspci", "mounts", "dcgmi-diag", "chronyc-tracking"), bytes(range(256)) * 50),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_words_are_judged_and_kept(what: str) -> None:
    report = Report.objects.get(pk=report_of(probe(once=HOSTILE[what])).pk)
    assert report.verdict in {"fit", "unfit", "degraded", "not_measured"}
    assert report.findings.exists()
    assert "\0" not in json.dumps(
        [report.reasons, report.versions, list(report.findings.values("message", "device"))]
    )


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", "-769.0", "0", "9" * 400])
def test_numbers_that_are_none_are_no_measurement(number: str) -> None:
    raw = gemm_text().replace(b"achieved_tflops=769.000", f"achieved_tflops={number}".encode())
    report = report_of(probe(repeated={"gemm": [raw, raw, raw]}))
    assert report.verdict == "not_measured"
    assert "gemm_bf16" not in report.scores


@pytest.mark.parametrize(
    "odd",
    ["", "x", "NaN", None, {}, [], "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-30T10:00:00",
     "1970-01-01T00:00:00Z", "0002-01-01T00:00:00Z"],
)  # fmt: skip
def test_a_clock_that_can_t_be_believed_counts_as_now(odd: Any) -> None:
    report = report_of({**sent(), "taken_at": odd})
    assert abs(Report.objects.get(pk=report.pk).taken_at - now()) < timedelta(minutes=1)


@pytest.mark.parametrize("odd", ["x", 7, [], {"schema": 2}, {"schema": 1, "evidence": "x"}, {"schema": 1, "evidence": [1, None, {"id": 3}]}])  # fmt: skip
def test_what_is_no_probe_is_not_measured(odd: Any) -> None:
    report = report_of(odd or {"schema": None})
    assert report.verdict == "not_measured"
    assert report.scores == {}


def test_evidence_that_no_parser_knows_changes_no_verdict() -> None:
    told = {**sent(), "evidence": [*sent()["evidence"], evidence("../../etc/passwd", EVIL.encode())]}
    assert report_of(told).verdict == "fit"
