"""Do the benchmark parsers take the number that means something, and nothing where nothing was measured?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provisioning.validation.parsers import (
    chronyc,
    dcgmi_diag,
    gemm,
    gpu_burn,
    gpu_stream,
    hpl,
    mounts,
    nccl_tests,
    nvbandwidth,
    perftest,
    smartctl,
)
from provisioning.validation.reading import ReadingSet, ReadingState
from tests.provisioning.validation.healthy import gemm_text, nccl_text, nvbandwidth_text


@pytest.mark.parametrize(
    ("name", "busbw", "ranks"),
    [
        ("allreduce-a100-40g-8gpu-oldformat.log", 233.065, 8),
        ("allreduce-a100-80g-8gpu.txt", 231.72, 8),
        ("allreduce-a100-80g-2node.txt", 182.80, 16),
        ("allreduce-gb200-nvl72-72gpu.txt", 796.175, 72),
        ("alltoall-8gpu.log", 221.845, 8),
    ],
)
def test_busbw_is_the_plateau_of_large_sizes_in_every_layout(
    captures: Path, name: str, busbw: float, ranks: int
) -> None:
    readings = ReadingSet(nccl_tests.parse((captures / "nccl-tests" / name).read_bytes()).readings)
    assert readings.numbers("nccl_busbw") == (pytest.approx(busbw),)
    assert readings.numbers("nccl_busbw_ranks") == (ranks,)


@pytest.mark.parametrize("name", ["nccl-tests/mpirun-not-enough-slots.txt", "gpcnet/network_load_error.log"])
def test_a_tool_that_never_measured_gives_no_number(captures: Path, name: str) -> None:
    found = nccl_tests.parse((captures / name).read_bytes())
    assert found.readings == ()
    assert found.problems


def test_small_sizes_neither_lower_nor_lift_the_metric() -> None:
    rows = "\n".join(f"{2**p:12d} {2**p // 4:13d} float sum -1 30.0 0.10 {b:.2f} 0 30.0 0.10 {b:.2f} 0"
                     for p, b in ((12, 0.2), (20, 24.0), (25, 900.0)))  # fmt: skip
    with_small = ReadingSet(nccl_tests.parse(rows.encode() + b"\n" + nccl_text(360.0)).readings)
    assert with_small.numbers("nccl_busbw") == (360.0,)


def test_only_small_sizes_are_no_measurement() -> None:
    row = b"    33554432       8388608     float     sum      -1    344.8   97.32  170.31      0    349.5   95.99  167.99      0"
    found = ReadingSet(nccl_tests.parse(row).readings).last("nccl_busbw")
    assert found is not None
    assert found.state is ReadingState.MISSING


def test_unchecked_results_are_not_zero_wrong_results(captures: Path) -> None:
    raw = (captures / "nccl-tests/allreduce-a100-40g-8gpu-oldformat.log").read_bytes()
    found = ReadingSet(nccl_tests.parse(raw).readings).last("nccl_busbw_wrong")
    assert found is not None
    assert found.state is ReadingState.NOT_APPLICABLE


def test_wrong_values_are_summed_over_sizes_and_places() -> None:
    assert ReadingSet(nccl_tests.parse(nccl_text(wrong="3")).readings).numbers("nccl_busbw_wrong") == (24.0,)


def test_the_json_of_nccl_tests_gives_the_same_readings() -> None:
    half = {"time": 8109.1, "alg_bw": 132.4, "bus_bw": 231.7, "nwrong": 0}
    document = {"nccl_version": "2.27", "config": {"devices": [{"rank": r} for r in range(8)]},
                "results": [{"size": 2**30, "out_of_place": half, "in_place": half}],
                "out_of_bounds": {"count": 0, "okay": "unchecked"}}  # fmt: skip
    readings = ReadingSet(nccl_tests.parse(json.dumps(document).encode()).readings)
    assert (readings.numbers("nccl_busbw"), readings.numbers("nccl_busbw_wrong")) == ((231.7,), (0.0,))
    assert readings.numbers("nccl_busbw_ranks") == (8.0,)


def test_json_without_results_is_no_measurement() -> None:
    assert nccl_tests.parse(b'{"results": []}').readings == ()


def test_a_captured_gemm_block_without_an_index_is_gpu_0(captures: Path) -> None:
    readings = ReadingSet(gemm.parse((captures / "gemm/gemm-sweep-bf16.stdout").read_bytes()).readings)
    assert readings.numbers("gemm_bf16", device="gpu:0") == (46.473,)
    assert readings.numbers("gemm_wrong") == (0.0,)


def test_every_block_is_its_gpu() -> None:
    readings = ReadingSet(gemm.parse(gemm_text({5: 700.0})).readings)
    assert readings.devices("gemm_bf16") == tuple(f"gpu:{i}" for i in range(8))
    assert readings.numbers("gemm_bf16", device="gpu:5") == (700.0,)


def test_a_gemm_that_did_not_finish_has_no_speed() -> None:
    found = ReadingSet(gemm.parse(gemm_text().replace(b"GEMM_SWEEP_PASS", b"")).readings).of("gemm_bf16")
    assert {one.state for one in found} == {ReadingState.FAILED}


def test_another_precision_is_another_metric() -> None:
    found = gemm.parse(gemm_text().replace(b"precision=bf16", b"precision=fp32"))
    assert found.readings == ()
    assert "not in bf16" in found.problems[0]


def test_nonfinite_values_make_the_product_wrong() -> None:
    assert set(ReadingSet(gemm.parse(gemm_text(nonfinite=2)).readings).numbers("gemm_wrong")) == {1.0}


def test_nvbandwidth_names_waived_tests_and_reads_the_others(captures: Path) -> None:
    found = nvbandwidth.parse((captures / "nvbandwidth/nvbandwidth-gh200.log").read_bytes())
    assert any("Waived" in problem for problem in found.problems)
    assert ReadingSet(found.readings).numbers("d2h_bw", device="gpu:0") == (295.15,)


def test_peer_copies_count_one_way_at_the_median_of_the_peers() -> None:
    readings = ReadingSet(nvbandwidth.parse(nvbandwidth_text()).readings)
    assert readings.numbers("p2p_bw") == (378.0,) * 8
    assert readings.numbers("p2p_pairs") == (56.0,)


def test_a_total_of_both_directions_counts_half() -> None:
    lines = nvbandwidth_text().decode().splitlines()
    total = next(n for n, line in enumerate(lines) if "Total bandwidth" in line)
    raw = "\n".join(["Running device_to_device_bidirectional_memcpy_read_ce.", *lines[total:]]).encode()
    assert set(ReadingSet(nvbandwidth.parse(raw).readings).numbers("p2p_bw")) == {378.0}


def test_nvbandwidth_json_with_a_waived_case_reads_the_passed_one() -> None:
    document = {"nvbandwidth": {"testcases": [
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["55.1", "54.9"]], "sum": 110.0},
        {"name": "device_to_host_memcpy_ce", "status": "Waived"}]}}  # fmt: skip
    found = nvbandwidth.parse(json.dumps(document).encode())
    assert ReadingSet(found.readings).numbers("h2d_bw") == (55.1, 54.9)
    assert found.problems == ("device_to_host_memcpy_ce: Waived",)


def test_memory_bandwidth_is_the_best_triad_per_gpu(captures: Path) -> None:
    readings = ReadingSet(
        gpu_stream.parse((captures / "gpu-stream/gpu_stream-blackwell.log").read_bytes()).readings
    )
    assert readings.numbers("mem_bw") == (7414.01, 7414.04)


def test_perftest_megabytes_are_two_to_the_twentieth(captures: Path) -> None:
    readings = ReadingSet(
        perftest.parse((captures / "perftest/ib_write_bw-loopback-8M.log").read_bytes()).readings
    )
    assert readings.numbers("ib_write_bw") == (pytest.approx(201.8, abs=0.05),)


def test_gpu_burn_reads_the_table_at_the_end(captures: Path) -> None:
    raw = (captures / "gpu-burn/gpu_burn-8xa100-ok.log").read_bytes()
    assert [one.text for one in gpu_burn.parse(raw).readings] == ["OK"] * 8
    faulty = gpu_burn.parse(raw.replace(b"GPU 3: OK", b"GPU 3: FAULTY"))
    assert [one.device for one in faulty.readings if one.text == "FAULTY"] == ["gpu:3"]


def test_gpu_burn_stopped_before_its_table_tested_nothing(captures: Path) -> None:
    raw = (captures / "gpu-burn/gpu_burn-8xa100-ok.log").read_bytes()
    found = gpu_burn.parse(raw[: raw.index(b"Tested 8 GPUs")])
    assert found.readings == ()
    assert found.problems


def test_hpl_needs_its_residual(captures: Path) -> None:
    raw = (captures / "hpl/hpl-result.log").read_bytes()
    readings = ReadingSet(hpl.parse(raw).readings)
    assert readings.numbers("hpl_gflops") == (8126.1,)
    failed = ReadingSet(hpl.parse(raw.replace(b"...... PASSED", b"...... FAILED")).readings).last(
        "hpl_residual"
    )
    assert failed is not None
    assert failed.text == "FAILED"


def test_a_drive_that_calls_itself_passed_still_tells_its_spare(captures: Path) -> None:
    readings = ReadingSet(smartctl.parse((captures / "smartctl/bad.json").read_bytes()).readings)
    word = readings.last("disk_smart", "disk:/dev/nvme9")
    assert word is not None
    assert word.text == "passed"
    assert readings.numbers("disk_spare") == (0.0,)


def test_skipped_dcgm_tests_stay_skipped(captures: Path) -> None:
    raw = (captures / "dcgmi/diag-dcgm4-gb10-level2-partial-skip.json").read_bytes()
    told = {one.told("test"): one.text for one in dcgmi_diag.parse(raw).readings}
    assert told == {"software": "fail", "memory": "skip", "pcie": "skip"}


def test_warnings_repeated_in_a_summary_are_not_counted_against_other_devices(captures: Path) -> None:
    document = json.loads((captures / "dcgmi/diag-dcgm4-gb10-level2-plugins-gated.json").read_bytes())
    results = document["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["results"]
    results.append(results[0] | {"entity_id": 1, "status": "Pass", "warnings": []})
    found = dcgmi_diag.parse(json.dumps(document).encode()).readings
    assert {one.device: one.told("warnings") for one in found if one.told("test") == "software"} == {
        "gpu:0": "1",
        "gpu:1": "0",
    }


def test_the_worst_warning_of_a_dcgm_test_is_kept() -> None:
    warnings = [{"warning": "config", "error_id": 29, "error_category": 8, "error_severity": 5},
                {"warning": "reset it", "error_id": 97, "error_category": 10, "error_severity": 6}]  # fmt: skip
    document = {"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": [{"name": "memory", "results": [
        {"entity_group": "GPU", "entity_id": 0, "status": "Fail", "warnings": warnings}]}]}]}}  # fmt: skip
    found = dcgmi_diag.parse(json.dumps(document).encode()).readings[0]
    assert (found.told("said"), found.told("severity")) == ("reset it", "6")


def test_chrony_in_csv_and_in_text_say_the_same() -> None:
    csv = chronyc.parse(
        b"0A000001,10.0.0.1,3,1764496800.1,-0.250000000,0.1,0.1,1.2,0.0,0.0,0.0,0.0,64.0,Normal\n"
    )
    text = chronyc.parse(
        b"Reference ID    : 0A000001 (ntp)\nStratum         : 3\nSystem time     : 0.250000000 seconds slow of NTP time\nLeap status     : Normal\n"
    )
    assert csv.readings == text.readings


def test_chrony_that_cannot_reach_its_daemon_says_so() -> None:
    found = chronyc.parse(b"506 Cannot talk to daemon\n")
    assert found.readings == ()
    assert "506" in found.problems[0]


def test_nested_mounts_are_all_found() -> None:
    tree = {"filesystems": [{"target": "/", "source": "/dev/a", "fstype": "ext4", "options": "rw", "children": [
        {"target": "/data", "source": "nas:/x", "fstype": "nfs4", "options": "rw,hard", "children": [
            {"target": "/data/deep", "source": "nas:/y", "fstype": "nfs4", "options": "ro"}]}]}]}  # fmt: skip
    found = mounts.parse(json.dumps(tree).encode()).readings
    assert {one.device: one.text for one in found if one.metric == "mount_source"} == {
        "mount:/": "/dev/a", "mount:/data": "nas:/x", "mount:/data/deep": "nas:/y"}  # fmt: skip
