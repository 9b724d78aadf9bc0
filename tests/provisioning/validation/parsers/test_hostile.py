"""Whatever bytes a node sends, does every parser come back with readings or a problem, and never with a made-up pass?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.validation.evidence import Evidence, Outcome, Probe
from provisioning.validation.parsers import nvidia_smi_csv, nvlink
from provisioning.validation.parsers.parsed import Parsed
from provisioning.validation.reading import Reading, ReadingState
from provisioning.validation.readings import PARSERS, gather

CAPTURED = {
    "nvidia-smi-xml": ["nvidia-smi-xml/a100-sxm4-v12.xml", "nvidia-smi-xml/tesla-t4.xml", "nvidia-smi-xml/rtx-3060-v12.xml"],
    "nvidia-smi-nvlink": ["nvidia-smi-text/nvlink-status-a100.txt"],
    "lspci": ["lspci/lspci-nn-a100.txt"],
    "kernel-log": ["dmesg/xid-sxid-lines.txt", "dmesg/xid-119-gsp-rpc-timeout.log"],
    "ib-sysfs": ["infiniband/sys-class-infiniband-h100.txt"],
    "dcgmi-diag": ["dcgmi/diag-dcgm4-gb10-level2-partial-skip.json", "dcgmi/diag-dcgm2or3-level1-fail.json"],
    "dcgmi-health": ["dcgmi/health-c-j-healthy-while-gpu1-unusable.json"],
    "fabric-manager-log": ["fabric-manager/fabricmanager.log"],
    "nccl-all-reduce": ["nccl-tests/allreduce-a100-80g-2node.txt", "nccl-tests/alltoall-8gpu.log"],
    "gemm": ["gemm/gemm-sweep-bf16.stdout"],
    "nvbandwidth": ["nvbandwidth/nvbandwidth-gh200.log"],
    "gpu-stream": ["gpu-stream/gpu_stream-blackwell.log"],
    "ib-write-bw": ["perftest/ib_write_bw-loopback-8M.log"],
    "smartctl": ["smartctl/bad.json"],
}  # fmt: skip


def _sound(found: Parsed) -> None:
    """A result that is well formed: values only where measured, finite, and silence with a reason."""
    for one in found.readings:
        assert isinstance(one, Reading)
        assert (one.value is not None) == (one.state is ReadingState.MEASURED)
        assert one.number is None or abs(one.number) < float("inf")
    assert found.readings or found.problems


@pytest.mark.parametrize("name", sorted(PARSERS))
@settings(max_examples=40, deadline=None)
@given(raw=st.binary(max_size=600))
def test_random_bytes_never_raise_and_never_go_unnoticed(name: str, raw: bytes) -> None:
    _sound(PARSERS[name](raw, run=1))


@settings(max_examples=40, deadline=None)
@given(raw=st.binary(max_size=400))
def test_random_bytes_never_raise_in_the_parsers_with_arguments(raw: bytes) -> None:
    _sound(nvidia_smi_csv.parse(raw, fields=("index", "gpu_recovery_action")))
    _sound(nvidia_smi_csv.parse(raw))
    _sound(nvlink.parse_dcgmi_status(raw))
    _sound(nvlink.parse_dcgmi_errors(raw, 0))


@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, paths in CAPTURED.items() for path in paths]
)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_capture_cut_or_scribbled_on_never_raises(
    name: str, path: str, data: st.DataObject, captures: Path
) -> None:
    raw = (captures / path).read_bytes()[:20_000]
    at = data.draw(st.integers(0, len(raw)))
    length = data.draw(st.integers(0, 200))
    scribble = data.draw(st.binary(max_size=40))
    _sound(PARSERS[name](raw[:at] + scribble + raw[at + length :], run=1))
    _sound(PARSERS[name](raw[:at], run=1))


@pytest.mark.parametrize(
    "name", ["dcgmi-diag", "mounts", "smartctl", "nvbandwidth", "nccl-all-reduce", "dcgmi-health"]
)
def test_json_nested_a_hundred_thousand_deep_is_a_problem_and_no_crash(name: str) -> None:
    _sound(PARSERS[name](b'{"a":' * 100_000, run=1))
    _sound(PARSERS[name](b"[" * 100_000, run=1))


def test_an_xml_that_declares_entities_is_not_expanded() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><nvidia_smi_log><gpu id="&b;"/></nvidia_smi_log>'
    found = PARSERS["nvidia-smi-xml"](bomb, run=1)
    assert found.readings == ()
    assert "entities" in found.problems[0]


def test_evidence_of_a_tool_nobody_knows_is_named_and_not_dropped() -> None:
    evidence = Evidence(id="new-tool", run=1, outcome=Outcome.RAN, command=(), rc=0, seconds=1.0, stdout=b"fine",
                        truncated=False, stderr="")  # fmt: skip
    gathered = gather(Probe(node="n", boot_id="", taken_at="", simulated=True, evidence=(evidence,)))
    assert gathered.problems == ("new-tool#1: no parser knows this evidence",)
