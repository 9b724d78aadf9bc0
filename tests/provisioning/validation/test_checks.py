"""Does each check tell a fault from health, and both from not having looked? Faults are listed edits of a healthy node."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioning.fleet.sku_data import Nics, NvLink, Pcie, Sku
from provisioning.validation.expectation import Expectation, ExpectedMount
from provisioning.validation.finding import Finding, FindingLevel
from provisioning.validation.judge import judge_node
from provisioning.validation.policy import Policy
from provisioning.validation.report import NodeReport
from tests.provisioning.validation import healthy
from tests.provisioning.validation.healthy import H100, evidence, probe, repeats, smi_xml

PASS, WARN, FAIL = FindingLevel.PASS, FindingLevel.WARN, FindingLevel.FAIL
UNKNOWN = FindingLevel.NOT_MEASURED


def judged(data: dict[str, Any], **kwargs: Any) -> NodeReport:
    return judge_node(data, kwargs.pop("sku", H100), **kwargs)


def about(report: NodeReport, check_id: str) -> list[Finding]:
    return [one for one in report.findings if one.check_id == check_id]


def levels(report: NodeReport, check_id: str) -> set[FindingLevel]:
    return {one.level for one in about(report, check_id)}


def devices(report: NodeReport, check_id: str, level: FindingLevel) -> list[str]:
    return [one.device for one in about(report, check_id) if one.level is level]


def with_xml(gpus: dict[int, dict[str, str]] | None = None, **kwargs: Any) -> NodeReport:
    return judged(probe(once={"nvidia-smi-xml": smi_xml(gpus, **kwargs)}))


def with_log(*lines: str) -> NodeReport:
    return judged(probe(once={"kernel-log": healthy.kernel_log(*lines)}))


def test_a_healthy_node_passes_every_check_and_is_fit() -> None:
    report = judged(probe())
    assert {one.level for one in report.findings} == {PASS}
    assert report.verdict.value == "fit"
    assert report.verdict.reasons == ("every required check passed",)


def test_one_element_missing_while_the_driver_counts_eight_is_unknown_and_not_valid() -> None:
    report = with_xml(drop=(3,))
    assert levels(report, "gpu_count") == {UNKNOWN}
    assert report.verdict.value == "not_measured"
    assert "gpu_count" in report.verdict.required_missing


def test_one_element_missing_and_one_fewer_on_the_bus_is_a_lost_gpu() -> None:
    report = judged(probe(once={"nvidia-smi-xml": smi_xml(drop=(3,)), "lspci": healthy.lspci_text(gpus=7)}))
    assert levels(report, "gpu_count") == {FAIL}


def test_seven_gpus_everywhere_is_seen_by_the_sku_alone() -> None:
    report = judged(
        probe(once={"nvidia-smi-xml": smi_xml(drop=(7,), attached=7), "lspci": healthy.lspci_text(gpus=7)})
    )
    assert levels(report, "gpu_count") == {FAIL}
    assert report.verdict.value == "unfit"


def test_a_bus_that_disagrees_with_the_driver_is_unknown() -> None:
    assert levels(judged(probe(once={"lspci": healthy.lspci_text(gpus=7)})), "gpu_count") == {UNKNOWN}


def test_a_count_without_lspci_still_counts() -> None:
    assert levels(judged(probe(once={"lspci": None})), "gpu_count") == {PASS}


def test_a_text_line_about_a_lost_gpu_fails_the_count() -> None:
    line = b"Unable to determine the device handle for GPU0000:61:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
    report = judged(probe(once={"nvidia-smi-xml": line + smi_xml(drop=(3,), attached=7)}))
    assert FAIL in levels(report, "gpu_count")
    assert report.verdict.value == "unfit"


def test_a_cut_off_xml_counts_nothing() -> None:
    raw = smi_xml()
    report = judged(probe(once={"nvidia-smi-xml": raw[: len(raw) // 2]}))
    assert levels(report, "gpu_count") == {UNKNOWN}
    assert report.verdict.value == "not_measured"


def test_another_model_is_not_the_sku() -> None:
    report = with_xml({2: {"product_name": "NVIDIA H100 PCIe"}})
    assert devices(report, "gpu_model", FAIL) == ["gpu:2"]


def test_a_gpu_that_answers_unknown_error_fails() -> None:
    report = with_xml(
        {2: dict.fromkeys(("product_name", "current_ecc", "gpu_recovery_action"), "Unknown Error")}
    )
    for check_id in ("gpu_model", "ecc", "recovery_action"):
        assert devices(report, check_id, FAIL) == ["gpu:2"]


def test_a_driver_other_than_ordered_fails_and_other_than_usual_is_a_note() -> None:
    data = probe(once={"nvidia-smi-xml": smi_xml(driver="550.90.07")})
    assert levels(judged(data), "driver") == {WARN}
    assert levels(judged(data, expectation=Expectation(driver="570.172.08")), "driver") == {FAIL}
    assert levels(judged(data, expectation=Expectation(driver="550.90.07")), "driver") == {PASS}


def test_mixed_vbios_is_a_note_and_a_pinned_one_must_be_there() -> None:
    data = probe(once={"nvidia-smi-xml": smi_xml({1: {"vbios_version": "96.00.74.00.01"}})})
    assert levels(judged(data), "vbios") == {WARN}
    assert levels(judged(data, expectation=Expectation(vbios=H100.vbios)), "vbios") == {FAIL}


@pytest.mark.parametrize("action", ["Reset", "Reboot", "Drain P2P", "Drain and Reset"])
def test_any_recovery_action_makes_the_node_unfit(action: str) -> None:
    report = with_xml({1: {"gpu_recovery_action": action}})
    assert devices(report, "recovery_action", FAIL) == ["gpu:1"]
    assert report.verdict.value == "unfit"


def test_dcgm_calls_a_host_healthy_whose_gpu_needs_a_reset_and_the_worst_source_wins(captures: Path) -> None:
    data = probe(once={"nvidia-smi-xml": smi_xml({1: {"gpu_recovery_action": "Reset"}})})
    data["evidence"].append(
        evidence(
            "dcgmi-health", (captures / "dcgmi/health-c-j-healthy-while-gpu1-unusable.json").read_bytes()
        )
    )
    report = judged(data)
    assert levels(report, "dcgm_health") == {PASS}
    assert report.verdict.value == "unfit"
    assert "asks for Reset" in report.verdict.reasons[0]


def test_no_recovery_action_on_an_old_driver_is_unknown_for_this_field_only() -> None:
    report = with_xml({gpu: {"gpu_recovery_action": "N/A"} for gpu in range(8)})
    assert levels(report, "recovery_action") == {UNKNOWN}
    assert report.verdict.value == "fit"


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({"dram_uncorrectable": "1"}, FAIL),
        ({"sram_parity": "1"}, FAIL),
        ({"current_ecc": "Disabled"}, FAIL),
        ({"dram_uncorrectable_total": "5"}, WARN),
        ({"dram_uncorrectable": "N/A"}, UNKNOWN),
        ({"dram_uncorrectable": "ERR!"}, UNKNOWN),
    ],
)
def test_uncorrectable_errors_now_fail_and_old_ones_are_a_note(
    changed: dict[str, str], level: FindingLevel
) -> None:
    report = with_xml({4: changed})
    assert [one.level for one in about(report, "ecc") if one.device == "gpu:4"] == [level]


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({"remapped_row_pending": "Yes"}, FAIL),
        ({"remapped_row_failure": "Yes"}, FAIL),
        ({"remapped_row_unc": "11"}, FAIL),
        ({"remapped_row_unc": "3"}, WARN),
        ({"remapped_row_pending": "N/A"}, UNKNOWN),
    ],
)
def test_remapped_rows_pending_or_failed_fail(changed: dict[str, str], level: FindingLevel) -> None:
    report = with_xml({4: changed})
    assert [one.level for one in about(report, "row_remap") if one.device == "gpu:4"] == [level]


def test_pages_waiting_to_be_retired_fail_where_rows_are_not_remapped(captures: Path) -> None:
    raw = (captures / "nvidia-smi-xml/tesla-t4.xml").read_text()
    old = "<pending_retirement>No</pending_retirement>"
    assert old in raw
    for text, level in ((raw, PASS), (raw.replace(old, old.replace("No<", "Yes<")), FAIL)):
        report = judged(probe(once={"nvidia-smi-xml": text.encode()}), expectation=Expectation(gpu_count=1))
        assert levels(report, "row_remap") == {level}


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({"current_link_width": "8x"}, FAIL),
        ({"current_link_width": "8x", "performance_state": "P8"}, UNKNOWN),
        ({"current_link_gen": "1", "performance_state": "P8"}, UNKNOWN),
        ({"current_link_gen": "4"}, FAIL),
        ({"current_link_gen": "N/A"}, PASS),
    ],
)
def test_a_narrow_link_fails_under_load_and_says_nothing_while_idle(
    changed: dict[str, str], level: FindingLevel
) -> None:
    report = with_xml({6: changed})
    assert [one.level for one in about(report, "pcie") if one.device == "gpu:6"] == [level]


def small(model: str, *, width: int, gen: int = 4, memory: int = 23028) -> Sku:
    return replace(H100, slug="small", gpu_model=model, gpu_count=1, memory_mib=memory, nvswitch=False, vbios="",
                   nvlink=NvLink(links=0, gbps_per_link=0.0), pcie=Pcie(gen=gen, width=width),
                   nics=Nics(count=0, rate_gbps=0.0), expected={})  # fmt: skip


def test_a_healthy_cloud_a10g_at_eight_lanes_passes_its_own_sku(captures: Path) -> None:
    raw = (captures / "nvidia-smi-xml/a10g.xml").read_bytes()
    data = probe(once={"nvidia-smi-xml": raw, "lspci": (captures / "lspci/lspci-nn-a10.txt").read_bytes()})
    report = judged(
        data, sku=small("NVIDIA A10G", width=8, gen=1), expectation=Expectation(driver="515.105.01")
    )
    assert {one.check_id for one in report.findings if one.level is FAIL} == set()
    for check_id in (
        "gpu_count",
        "gpu_model",
        "driver",
        "ecc",
        "row_remap",
        "pcie",
        "thermals",
        "throttling",
    ):
        assert levels(report, check_id) == {PASS}, check_id


def test_a_lone_element_of_four_attached_gpus_is_unknown(captures: Path) -> None:
    raw = (captures / "nvidia-smi-xml/a100-sxm4-v12.xml").read_bytes()
    data = probe(once={"nvidia-smi-xml": raw, "lspci": None})
    report = judged(data, sku=small("NVIDIA A100-SXM4-80GB", width=16, memory=81920))
    assert levels(report, "gpu_count") == {UNKNOWN}
    assert levels(report, "row_remap") == {UNKNOWN}


@pytest.mark.parametrize(
    ("state", "status", "level"),
    [("In Progress", "N/A", FAIL), ("Completed", "Failure", FAIL), ("N/A", "N/A", UNKNOWN)],
)
def test_fabric_must_have_completed(state: str, status: str, level: FindingLevel) -> None:
    report = with_xml({gpu: {"fabric_state": state, "fabric_status": status} for gpu in range(8)})
    assert levels(report, "fabric_state") == {level}


def test_a_dead_fabric_manager_fails_and_a_silent_one_is_unknown() -> None:
    dead = judged(probe(once={"fabric-manager": b"ActiveState=inactive\nSubState=dead\n"}))
    assert levels(dead, "fabric_manager") == {FAIL}
    silent = judged(probe(outcomes={"fabric-manager": "timed_out"}))
    assert levels(silent, "fabric_manager") == {UNKNOWN}
    assert silent.verdict.value == "not_measured"


def test_seventeen_of_eighteen_nvlinks_fail() -> None:
    report = judged(probe(once={"nvidia-smi-nvlink": healthy.nvlink_text(down={4: 1})}))
    assert devices(report, "nvlink", FAIL) == ["gpu:4"]
    assert report.verdict.value == "unfit"


def test_a_slower_nvlink_fails() -> None:
    raw = healthy.nvlink_text().replace(b"Link 3: 26.562", b"Link 3: 25.781", 1)
    assert devices(judged(probe(once={"nvidia-smi-nvlink": raw})), "nvlink", FAIL) == ["gpu:0/link:3"]


def test_links_cut_off_with_the_output_are_unknown_and_not_down() -> None:
    raw = healthy.nvlink_text()
    report = judged(probe(once={"nvidia-smi-nvlink": raw[: len(raw) // 2]}))
    assert FAIL not in levels(report, "nvlink")
    assert report.verdict.value == "not_measured"


def test_all_links_inactive_fails_where_the_sku_has_links(captures: Path) -> None:
    raw = (captures / "nvidia-smi-text/nvlink-s-b200-all-inactive.txt").read_bytes()
    report = judged(probe(once={"nvidia-smi-nvlink": raw}))
    assert devices(report, "nvlink", FAIL) == ["gpu:2"]


def test_nvlink_is_not_asked_of_a_sku_without_links() -> None:
    report = judged(probe(once={"nvidia-smi-nvlink": None}), sku=small("x", width=16))
    assert about(report, "nvlink") == []
    assert "nvlink" not in report.verdict.required_missing


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 48, pid=1, DBE", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 109, pid=1, CTX SWITCH TIMEOUT", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 62, pid=1, halt", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 12345, something new", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 167, PCIe fatal timeout", FAIL),
        ("NVRM: Xid (PCI:0000:1b:00): 31, pid=1, MMU fault", WARN),
        ("NVRM: Xid (PCI:0000:1b:00): 94, pid=1, Contained", WARN),
        ("NVRM: Xid (PCI:0000:1b:00): 63, Row remapping pending", WARN),
        ("NVRM: Xid (PCI:0000:1b:00): 45, pid=1, preempted", WARN),
        ("NVRM: Xid (PCI:0000:1b:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0)", WARN),
        ("NVRM: Xid (PCI:0000:1b:00): 145, RLW_REMAP Fatal XC0 i0 Link 13 (0x0)", FAIL),
        (
            "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            FAIL,
        ),
        (
            "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
            PASS,
        ),
    ],
)
def test_an_xid_is_judged_by_the_catalogue(line: str, level: FindingLevel) -> None:
    report = with_log(line)
    found = [one for one in about(report, "xid") if one.device == "gpu:0"]
    assert [one.level for one in found] == [level]


def test_xid_45_among_others_follows_them() -> None:
    report = with_log("NVRM: Xid (PCI:0000:1b:00): 45, pid=1, x", "NVRM: Xid (PCI:0000:1b:00): 31, pid=1, y")
    assert sorted(one.level.value for one in about(report, "xid")) == ["fail", "warn"]


def test_a_contained_error_then_a_remap_is_an_application_event_and_a_trend() -> None:
    report = with_log(
        "NVRM: Xid (PCI:0000:1b:00): 94, pid=1, Contained", "NVRM: Xid (PCI:0000:1b:00): 63, Row remapping"
    )
    assert levels(report, "xid") == {WARN}
    assert report.verdict.value == "fit"


def test_an_xid_of_the_last_boot_is_not_held_against_this_one() -> None:
    old = b"2026-11-29T08:00:00+0000 n kernel: NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    report = judged(probe(once={"kernel-log": old + healthy.kernel_log()}))
    assert levels(report, "xid") == {PASS}


def test_a_fallen_gpu_without_an_xid_number_fails() -> None:
    report = with_log("NVRM: The NVIDIA GPU 0000:52:00.0", "NVRM: (PCI ID: 10de:2330) installed in this system has",
                      "NVRM: fallen off the bus and is not responding to commands.")  # fmt: skip
    assert devices(report, "xid", FAIL) == ["gpu:2"]


def test_the_log_and_not_the_metric_is_the_source_of_xids() -> None:
    report = with_log("NVRM: Xid (PCI:0000:43:00): 62, pid=1, halt")
    assert "Xid 62" in report.verdict.reasons[0]


def test_an_empty_kernel_log_is_unknown() -> None:
    report = judged(probe(once={"kernel-log": b""}))
    assert levels(report, "xid") == {UNKNOWN}
    assert report.verdict.value == "not_measured"


def test_a_log_that_does_not_reach_back_to_the_boot_is_a_note() -> None:
    report = judged(probe(once={"kernel-log": b"[  1.0] usb 1-1: new device\n"}))
    assert levels(report, "xid") == {WARN}


def test_a_fatal_switch_error_fails() -> None:
    report = with_log("nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
    assert levels(report, "sxid") == {FAIL}


def ports(changed: dict[int, dict[str, str]]) -> NodeReport:
    return judged(probe(once={"ib-sysfs": healthy.ib_sysfs(changed)}))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rate": "200 Gb/sec (4X HDR)"}, "200 Gb/s instead of 400"),
        ({"state": "2: INIT"}, "subnet manager"),
        ({"state": "1: DOWN", "phys_state": "3: Disabled"}, "Disabled"),
        ({"phys_state": "2: Polling", "state": "1: DOWN"}, "Polling"),
    ],
)
def test_a_port_that_is_not_up_at_its_rate_fails_and_says_why(changed: dict[str, str], said: str) -> None:
    report = ports({2: changed})
    assert devices(report, "ib_ports", FAIL) == ["nic:mlx5_2/1"]
    assert said in about(report, "ib_ports")[0].message


def test_the_captured_h100_host_has_its_eight_ports_and_its_bond_does_not_count(captures: Path) -> None:
    raw = (captures / "infiniband/sys-class-infiniband-h100.txt").read_bytes()
    report = judged(probe(once={"ib-sysfs": raw}))
    assert levels(report, "ib_ports") == {PASS}
    stuck = [one for one in about(report, "ib_counters") if one.device == "nic:mlx5_1/1"]
    assert [one.level for one in stuck] == [UNKNOWN]


def test_seven_ports_where_eight_are_wanted_fail() -> None:
    raw = b"\n".join(line for line in healthy.ib_sysfs().splitlines() if b"mlx5_7" not in line)
    assert levels(judged(probe(once={"ib-sysfs": raw})), "ib_ports") == {FAIL}


def test_named_ports_are_the_only_ones_that_count() -> None:
    wanted = Expectation(compute_ports=("mlx5_0/1", "mlx5_9/1"), nic_count=2)
    report = judged(probe(), expectation=wanted)
    assert devices(report, "ib_ports", FAIL) == ["nic:mlx5_9/1"]


def test_ibstat_alone_is_enough_where_sysfs_was_not_read() -> None:
    text = "".join(
        f"CA 'mlx5_{n}'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n"
        for n in range(8)
    )
    assert levels(judged(probe(once={"ib-sysfs": None, "ibstat": text.encode()})), "ib_ports") == {PASS}


def test_two_sources_that_disagree_about_a_port_are_not_a_pass() -> None:
    text = "CA 'mlx5_3'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 400\n"
    report = judged(probe(once={"ibstat": text.encode()}))
    assert devices(report, "ib_ports", FAIL) == ["nic:mlx5_3/1"]


@pytest.mark.parametrize(("count", "level"), [("0", PASS), ("3", WARN), ("7", FAIL), ("255", UNKNOWN)])
def test_link_losses_are_counted_until_the_counter_is_full(count: str, level: FindingLevel) -> None:
    report = ports({1: {"counters/link_downed": count}})
    assert [one.level for one in about(report, "ib_counters") if one.device == "nic:mlx5_1/1"] == [level]


def test_a_loss_between_two_reads_fails_even_when_it_fills_the_counter() -> None:
    data = probe(once={"ib-sysfs": healthy.ib_sysfs({1: {"counters/link_downed": "254"}})})
    data["evidence"].append(
        evidence("ib-sysfs", healthy.ib_sysfs({1: {"counters/link_downed": "255"}}), run=2)
    )
    assert devices(judged(data), "ib_counters", FAIL) == ["nic:mlx5_1/1"]


def test_no_loss_between_two_reads_of_a_full_counter_is_unknown() -> None:
    full = healthy.ib_sysfs({1: {"counters/link_downed": "255"}})
    data = probe(once={"ib-sysfs": full})
    data["evidence"].append(evidence("ib-sysfs", full, run=2))
    assert devices(judged(data), "ib_counters", UNKNOWN) == ["nic:mlx5_1/1"]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("0A,10.0.0.1,3,1764496800.1,0.000010,0,0,0,0,0,0,0,64.0,Normal", PASS),
        ("0A,10.0.0.1,3,1764496800.1,-0.050000,0,0,0,0,0,0,0,64.0,Normal", WARN),
        ("0A,10.0.0.1,3,1764496800.1,0.250000,0,0,0,0,0,0,0,64.0,Normal", FAIL),
        ("7F7F0101,,0,0.0,0.000000,0,0,0,0,0,0,0,0.0,Not synchronised", FAIL),
        ("506 Cannot talk to daemon", UNKNOWN),
    ],
)
def test_the_clock_must_be_synchronised_and_near(line: str, level: FindingLevel) -> None:
    assert levels(judged(probe(once={"chronyc-tracking": line.encode()})), "clock") == {level}


@pytest.mark.parametrize(
    ("mount", "level"),
    [
        (ExpectedMount(path="/data", source="storage:/team", fstype="nfs"), PASS),
        (ExpectedMount(path="/scratch", source="storage:/scratch"), FAIL),
        (ExpectedMount(path="/data", source="other:/team"), FAIL),
        (ExpectedMount(path="/data", fstype="lustre"), FAIL),
    ],
)
def test_promised_mounts_are_there_from_their_source(mount: ExpectedMount, level: FindingLevel) -> None:
    assert levels(judged(probe(), expectation=Expectation(mounts=(mount,))), "mounts") == {level}


def test_a_promised_mount_that_is_read_only_fails() -> None:
    raw = healthy.MOUNTS.replace(b"rw,hard", b"ro,hard")
    wanted = Expectation(mounts=(ExpectedMount(path="/data"),))
    assert levels(judged(probe(once={"mounts": raw}), expectation=wanted), "mounts") == {FAIL}


def test_mounts_that_nobody_listed_are_unknown_only_where_some_were_promised() -> None:
    data = probe(once={"mounts": None})
    assert levels(judged(data), "mounts") == {PASS}
    assert levels(judged(data, expectation=Expectation(mounts=(ExpectedMount(path="/data"),))), "mounts") == {
        UNKNOWN
    }


@pytest.mark.parametrize(
    ("headroom", "level"), [("49 C", PASS), ("3 C", WARN), ("0 C", FAIL), ("-2 C", FAIL), ("ERR!", UNKNOWN)]
)
def test_little_headroom_warns_and_none_fails(headroom: str, level: FindingLevel) -> None:
    report = with_xml({5: {"gpu_temp_tlimit": headroom}})
    assert [one.level for one in about(report, "thermals") if one.device == "gpu:5"] == [level]


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({"hw_slowdown": "Active"}, FAIL),
        ({"hw_thermal_slowdown": "Active"}, FAIL),
        ({"sw_thermal_slowdown": "Active"}, WARN),
        ({"sw_power_cap": "Active"}, PASS),
        ({"hw_therm_time": "1000 us"}, PASS),
        ({"hw_therm_time": "40000000 us"}, WARN),
    ],
)
def test_throttling_by_flag_or_by_long_history(changed: dict[str, str], level: FindingLevel) -> None:
    report = with_xml({5: changed})
    assert [one.level for one in about(report, "throttling") if one.device == "gpu:5"] == [level]


@pytest.mark.parametrize(("grown", "level"), [(0, PASS), (1_000, PASS), (40_000_000, FAIL)])
def test_the_growth_of_a_throttle_counter_decides_between_two_reads(grown: int, level: FindingLevel) -> None:
    data = probe(once={"nvidia-smi-xml": smi_xml({5: {"hw_therm_time": "5000000 us"}})})
    data["evidence"].append(
        evidence("nvidia-smi-xml", smi_xml({5: {"hw_therm_time": f"{5_000_000 + grown} us"}}), run=2)
    )
    assert [one.level for one in about(judged(data), "throttling") if one.device == "gpu:5"] == [level]


def diag(raw: bytes) -> NodeReport:
    return judged(probe(once={"dcgmi-diag": raw}))


def test_a_dcgm_failure_that_is_only_a_setting_is_a_note(captures: Path) -> None:
    for name in ("diag-dcgm4-gb10-level1.json", "diag-dcgm2or3-level1-fail.json"):
        assert levels(diag((captures / "dcgmi" / name).read_bytes()), "dcgm_diag") == {WARN}, name


def test_skipped_dcgm_tests_do_not_validate_a_node(captures: Path) -> None:
    report = diag((captures / "dcgmi/diag-dcgm4-gb10-level2-partial-skip.json").read_bytes())
    assert UNKNOWN in levels(report, "dcgm_diag")
    assert report.verdict.value == "not_measured"
    assert "dcgm_diag" in report.verdict.required_missing


def dcgm(status: str, **warning: Any) -> bytes:
    result = {
        "entity_group": "GPU",
        "entity_id": 0,
        "status": status,
        "warnings": [warning] if warning else [],
    }
    return json.dumps(
        {
            "DCGM Diagnostic": {
                "test_categories": [
                    {"category": "Hardware", "tests": [{"name": "memory", "results": [result]}]}
                ]
            }
        }
    ).encode()


def test_a_memory_failure_that_asks_for_a_reset_fails() -> None:
    report = diag(dcgm("Fail", warning="row remap", error_category=10, error_severity=6, error_id=97))
    assert levels(report, "dcgm_diag") == {FAIL}
    assert report.verdict.value == "unfit"


def test_a_pass_with_a_warning_did_not_measure() -> None:
    report = diag(
        dcgm("Pass", warning="could not allocate memory", error_id=7, error_category=8, error_severity=3)
    )
    assert levels(report, "dcgm_diag") == {UNKNOWN}


def test_a_diagnostic_of_skips_only_is_unknown() -> None:
    assert levels(diag(dcgm("Skip")), "dcgm_diag") == {UNKNOWN}


def test_wrong_results_at_full_speed_make_a_node_unfit() -> None:
    report = judged(probe(repeated={"nccl-all-reduce": repeats(healthy.nccl_text, wrong="3")}))
    assert levels(report, "nccl_busbw") == {PASS}
    assert levels(report, "nccl_correct") == {FAIL}
    assert report.verdict.value == "unfit"


def test_results_that_were_not_checked_are_unknown() -> None:
    report = judged(probe(repeated={"nccl-all-reduce": repeats(healthy.nccl_text, wrong="N/A")}))
    assert levels(report, "nccl_correct") == {UNKNOWN}
    assert report.verdict.value == "not_measured"


def test_a_collective_on_fewer_gpus_is_not_this_nodes_collective() -> None:
    report = judged(probe(repeated={"nccl-all-reduce": repeats(healthy.nccl_text, ranks=4)}))
    assert levels(report, "nccl_correct") == {UNKNOWN}


def test_a_wrong_product_makes_a_node_unfit() -> None:
    report = judged(probe(repeated={"gemm": repeats(healthy.gemm_text, nonfinite=1)}))
    assert report.verdict.value == "unfit"


def test_a_gpu_at_a_third_of_its_speed_fails_though_the_diagnostic_passes() -> None:
    report = judged(probe(repeated={"gemm": repeats(healthy.gemm_text, {3: 769 * 6.7 / 19.2})}))
    assert levels(report, "dcgm_diag") == {PASS}
    assert devices(report, "gemm_bf16", FAIL) == ["gpu:3"]
    assert report.verdict.value == "degraded"


def test_a_tool_that_never_measured_is_unknown_and_never_a_bad_gpu(captures: Path) -> None:
    raw = (captures / "nccl-tests/mpirun-not-enough-slots.txt").read_bytes()
    report = judged(probe(repeated={"nccl-all-reduce": [raw] * 3}))
    assert levels(report, "nccl_busbw") == {UNKNOWN}
    assert "not enough slots" in about(report, "nccl_busbw")[0].message
    assert report.verdict.value == "not_measured"


@pytest.mark.parametrize("outcome", ["timed_out", "failed_to_start", "missing"])
def test_a_tool_that_did_not_run_leaves_its_check_unknown(outcome: str) -> None:
    report = judged(probe(outcomes={"gemm": outcome}))
    assert levels(report, "gemm_bf16") == {UNKNOWN}
    assert report.verdict.value == "not_measured"
    assert (WARN in levels(report, "tools")) == (outcome != "missing")


def test_a_gpu_without_a_measurement_leaves_the_metric_unknown() -> None:
    runs = [raw.replace(b"gpu_index=6", b"gpu_index=x") for raw in repeats(healthy.gemm_text)]
    report = judged(probe(repeated={"gemm": runs}))
    assert devices(report, "gemm_bf16", UNKNOWN) == ["gpu:6"]


def test_noisy_repeats_are_no_measurement() -> None:
    runs = [healthy.stream_text(factor=factor) for factor in (1.0, 0.95, 0.90)]
    report = judged(probe(repeated={"gpu-stream": runs}))
    assert levels(report, "mem_bw") == {UNKNOWN}
    assert "noisy" in about(report, "mem_bw")[0].message


def test_one_dip_among_three_repeats_does_not_count() -> None:
    runs = [healthy.stream_text(factor=factor) for factor in (1.0, 0.93, 1.001)]
    assert levels(judged(probe(repeated={"gpu-stream": runs})), "mem_bw") == {PASS}


def test_fewer_repeats_than_asked_are_no_measurement() -> None:
    report = judged(probe(repeated={"gemm": repeats(healthy.gemm_text)[:2]}))
    assert levels(report, "gemm_bf16") == {UNKNOWN}


def test_a_disabled_check_says_disabled_and_does_not_pass() -> None:
    report = judged(probe(), policy=Policy(disabled=frozenset({"ecc"})))
    assert [(one.level, one.message) for one in about(report, "ecc")] == [(UNKNOWN, "DISABLED by policy")]
    assert report.verdict.value == "not_measured"


def test_a_worn_drive_that_calls_itself_passed_fails(captures: Path) -> None:
    data = probe()
    data["evidence"].append(evidence("smartctl", (captures / "smartctl/bad.json").read_bytes()))
    assert levels(judged(data), "drives") == {FAIL}
    data["evidence"][-1] = evidence("smartctl", (captures / "smartctl/good.json").read_bytes())
    assert levels(judged(data), "drives") == {PASS}


def test_a_failed_residual_makes_a_node_unfit_however_fast(captures: Path) -> None:
    raw = (captures / "hpl/hpl-result.log").read_bytes()
    data = probe()
    data["evidence"].append(evidence("hpl", raw))
    assert levels(judged(data), "hpl") == {PASS}
    data["evidence"][-1] = evidence("hpl", raw.replace(b"...... PASSED", b"...... FAILED"))
    assert judged(data).verdict.value == "unfit"


def test_a_narrow_port_above_a_gpu_is_a_note() -> None:
    port = b"""18:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (prog-if 00 [Normal decode])
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x8 (downgraded)
"""
    report = judged(probe(once={"lspci": healthy.lspci_text() + b"\n" + port}))
    assert devices(report, "pci_bus", WARN) == ["pci:0000:18:00.0"]
    assert report.verdict.value == "fit"


def test_a_sku_without_a_figure_for_the_collective_is_not_asked_for_one() -> None:
    bare = replace(H100, expected={name: one for name, one in H100.expected.items() if name != "nccl_busbw"})
    report = judged(probe(repeated={"nccl-all-reduce": None}), sku=bare)
    assert report.verdict.value == "fit"
    wrong = judged(probe(repeated={"nccl-all-reduce": repeats(healthy.nccl_text, wrong="1")}), sku=bare)
    assert wrong.verdict.value == "unfit"


@pytest.mark.parametrize("name", ["a100-sxm4-v12.xml", "rtx-3060-v12.xml", "gtx-1070-ti.xml"])
def test_evidence_of_another_machine_is_never_fit(captures: Path, name: str) -> None:
    report = judged(probe(once={"nvidia-smi-xml": (captures / "nvidia-smi-xml" / name).read_bytes()}))
    assert report.verdict.value in ("unfit", "not_measured")


def test_the_order_of_evidence_changes_nothing() -> None:
    data = probe(
        once={
            "nvidia-smi-xml": smi_xml({1: {"gpu_recovery_action": "Reset"}, 2: {"dram_uncorrectable": "3"}})
        }
    )
    first = judged(data)
    shuffler = random.Random(7)
    for _ in range(5):
        shuffler.shuffle(data["evidence"])
        again = judged(data)
        assert again.findings == first.findings
        assert again.verdict == first.verdict
        assert again.readings == first.readings


def test_the_same_probe_is_judged_the_same_twenty_times() -> None:
    data = probe(once={"nvidia-smi-xml": smi_xml({1: {"gpu_temp_tlimit": "3 C"}})})
    assert len({repr(judged(data).verdict) for _ in range(20)}) == 1


def test_every_finding_names_its_evidence() -> None:
    for finding in judged(probe()).findings:
        assert finding.evidence or finding.check_id == "tools", finding
