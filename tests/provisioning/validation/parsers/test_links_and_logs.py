"""Are NVLinks, the PCI bus, the kernel log and the network ports read as they stand?"""

from __future__ import annotations

from pathlib import Path

from provisioning.validation.parsers import (
    fabric_manager,
    ib_sysfs,
    ibstat,
    kernel_log,
    lspci,
    nvidia_smi_csv,
    nvlink,
)
from provisioning.validation.reading import Reading, ReadingSet, ReadingState
from tests.provisioning.validation.healthy import ib_sysfs as healthy_ports
from tests.provisioning.validation.healthy import kernel_log as log
from tests.provisioning.validation.healthy import nvlink_text


def xids(raw: bytes) -> list[Reading]:
    return [one for one in kernel_log.parse(raw).readings if one.metric == "xid"]


def test_twelve_links_of_eight_a100_are_up(captures: Path) -> None:
    readings = ReadingSet(
        nvlink.parse((captures / "nvidia-smi-text/nvlink-status-a100.txt").read_bytes()).readings
    )
    assert readings.numbers("nvlink_active") == (12.0,) * 8
    assert set(readings.numbers("nvlink_speed")) == {25.0}


def test_all_links_inactive_is_a_measured_zero_and_not_silence(captures: Path) -> None:
    found = nvlink.parse((captures / "nvidia-smi-text/nvlink-s-b200-all-inactive.txt").read_bytes())
    active = [one for one in found.readings if one.metric == "nvlink_active"]
    assert [(one.device, one.number) for one in active] == [("gpu:2", 0.0)]


def test_one_inactive_link_is_counted_off() -> None:
    readings = ReadingSet(nvlink.parse(nvlink_text(down={4: 1})).readings)
    assert readings.numbers("nvlink_active", device="gpu:4") == (17.0,)


def test_dcgm_letters_are_counted_by_kind(captures: Path) -> None:
    found = nvlink.parse_dcgmi_status((captures / "dcgmi/nvlink-s-links-down.txt").read_bytes()).readings
    assert [(one.device, one.number, one.told("down"), one.told("disabled")) for one in found] == [
        ("gpu:0", 11.0, "1", "0"),
        ("gpu:1", 9.0, "1", "2"),
    ]


def test_nvlink_error_counters_are_strings_and_become_numbers(captures: Path) -> None:
    raw = (captures / "dcgmi/nvlink-e-gpu0-crc-errors.json").read_bytes()
    readings = ReadingSet(nvlink.parse_dcgmi_errors(raw, 0).readings)
    assert readings.numbers("nvlink_crc_data_errors", device="gpu:0/link:0") == (12.0,)


def test_the_bus_of_an_h100_host_has_eight_gpus_and_four_switches_at_full_width(captures: Path) -> None:
    raw = (captures / "lspci/lspci-vvv-8xh100-4nvswitch-cx7.txt").read_bytes()
    readings = ReadingSet(lspci.parse(raw).readings)
    assert readings.numbers("gpus_on_bus") == (8.0,)
    assert readings.numbers("nvswitches_on_bus") == (4.0,)
    gpus = [one for one in readings.of("lspci_width") if one.told("kind") == "gpu"]
    assert {one.number for one in gpus} == {16.0}


def test_a_bus_without_switches_has_none(captures: Path) -> None:
    readings = ReadingSet(lspci.parse((captures / "lspci/lspci-nn-a10.txt").read_bytes()).readings)
    assert (readings.numbers("gpus_on_bus"), readings.numbers("nvswitches_on_bus")) == ((1.0,), (0.0,))


def test_source_validation_is_read_per_bridge(captures: Path) -> None:
    readings = ReadingSet(lspci.parse((captures / "lspci/lspci-vvv-bridges-acs.txt").read_bytes()).readings)
    words = [one.text for one in readings.of("acs_source_validation")]
    assert (words.count("yes"), words.count("no")) == (2, 4)


def test_numbers_in_text_that_are_no_xid_are_not_read_as_xids(captures: Path) -> None:
    codes = {one.number for one in xids((captures / "dmesg/xid-sxid-lines.txt").read_bytes())}
    assert codes == {14, 31, 63, 64, 69, 74, 79, 94, 102, *range(144, 151), 154, 99999}


def test_a_gpu_off_the_bus_in_three_lines_without_a_number_is_xid_79() -> None:
    raw = log(
        "NVRM: The NVIDIA GPU 0000:18:00.0",
        "NVRM: (PCI ID: 10de:2901) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [(one.number, one.device) for one in xids(raw)] == [(79.0, "pci:0000:18:00.0")]


def test_the_first_of_the_three_lines_alone_says_nothing() -> None:
    assert xids(log("NVRM: The NVIDIA GPU 0000:18:00.0")) == []


def test_an_xid_before_the_boot_marker_belongs_to_the_last_boot() -> None:
    old = b"2026-11-29T08:00:00+0000 gpu-001 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"
    found = kernel_log.parse(old + log()).readings
    assert [one.metric for one in found] == ["kernel_log_lines"]
    assert found[0].told("errors_before_boot") == "1"


def test_a_log_without_a_boot_marker_says_that_it_does_not_reach_back(captures: Path) -> None:
    found = kernel_log.parse((captures / "dmesg/link-flaps.txt").read_bytes()).readings
    assert found[0].told("reaches_boot") == "no"


def test_four_hundred_equal_lines_are_one_reading_with_a_count() -> None:
    line = "NVRM: Xid (PCI:0000:1b:00): 13, pid=1, name=python3, Graphics Exception"
    found = xids(log(*[line] * 400))
    assert [(one.number, one.told("count"), one.told("bursts")) for one in found] == [(13.0, "400", "1")]


def test_a_burst_ends_after_three_minutes_of_silence(captures: Path) -> None:
    found = xids((captures / "dmesg/xid-119-gsp-rpc-timeout.log").read_bytes())
    assert [(one.number, one.told("count"), one.told("bursts")) for one in found] == [(119.0, "5", "2")]


def test_a_domain_that_is_not_zero_stays_in_the_address(captures: Path) -> None:
    found = xids((captures / "dmesg/xid-31-and-48.txt").read_bytes())
    assert {(one.number, one.device) for one in found} == {
        (31.0, "pci:000d:00:00.0"),
        (48.0, "pci:000d:00:00.0"),
    }


def test_nvlink5_lines_carry_unit_and_fatality() -> None:
    raw = log("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0)",
              "NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0)")  # fmt: skip
    assert {(one.number, one.told("unit"), one.told("fatality")) for one in xids(raw)} == {
        (149.0, "NETIR_LINK_EVT", "fatal"),
        (145.0, "RLW_RXPIPE", "nonfatal"),
    }


def test_xid_154_carries_the_new_recovery_action() -> None:
    raw = log(
        "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"
    )
    assert xids(raw)[0].told("recovery") == "Drain and Reset"


def test_sxids_carry_switch_and_fatality(captures: Path) -> None:
    found = kernel_log.parse((captures / "dmesg/xid-sxid-lines.txt").read_bytes()).readings
    sxids = {(one.number, one.told("fatality")) for one in found if one.metric == "sxid"}
    assert (20034.0, "fatal") in sxids
    assert (12028.0, "nonfatal") in sxids


def test_an_empty_kernel_log_is_a_problem() -> None:
    assert kernel_log.parse(b"\n\n").problems


def test_narrow_counters_at_their_top_are_saturated(captures: Path) -> None:
    readings = ReadingSet(
        ib_sysfs.parse((captures / "infiniband/sys-class-infiniband-h100.txt").read_bytes()).readings
    )
    stuck = readings.last("ib_link_downed", "nic:mlx5_1/1")
    assert stuck is not None
    assert (stuck.number, stuck.told("saturated")) == (255.0, "yes")
    overrun = readings.last("ib_excessive_buffer_overrun_errors", "nic:mlx5_0/1")
    assert overrun is not None
    assert overrun.told("saturated") == "yes"


def test_a_counter_below_its_top_is_not_saturated() -> None:
    raw = healthy_ports({0: {"counters/link_downed": "254"}})
    found = ReadingSet(ib_sysfs.parse(raw).readings).last("ib_link_downed", "nic:mlx5_0/1")
    assert found is not None
    assert found.told("saturated") == ""


def test_ibstat_speaks_the_words_of_sysfs() -> None:
    raw = b"""CA 'mlx5_0'
\tCA type: MT4129
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
"""
    readings = ReadingSet(ibstat.parse(raw).readings)
    assert [(one.device, one.text) for one in readings.of("ib_state")] == [
        ("nic:mlx5_0/1", "INIT"),
        ("nic:mlx5_1/1", "DOWN"),
    ]
    assert readings.numbers("ib_rate", device="nic:mlx5_0/1") == (400.0,)


def test_the_fabric_managers_log_gives_its_errors_as_sxids(captures: Path) -> None:
    readings = ReadingSet(
        fabric_manager.parse_log((captures / "fabric-manager/fabricmanager.log").read_bytes()).readings
    )
    assert readings.numbers("fabric_manager_errors") == (1.0,)
    assert [(one.number, one.told("fatality")) for one in readings.of("sxid")] == [(12028.0, "nonfatal")]


def test_csv_without_header_needs_the_asked_fields(captures: Path) -> None:
    raw = (captures / "nvidia-smi-csv/gpu_recovery_action-one-reset.csv").read_bytes()
    readings = ReadingSet(nvidia_smi_csv.parse(raw, fields=("index", "gpu_recovery_action")).readings)
    assert [one.text for one in readings.of("recovery_action")] == ["None", "Reset", *["None"] * 6]


def test_csv_cells_without_a_value_keep_their_state() -> None:
    raw = (b"index, temperature.gpu, power.draw [W], clocks_event_reasons.active\n"
           b"0, [N/A], 118.20 W, 0x0000000000000044\n1, ERR!, [GPU is lost], [Not Supported]\n")  # fmt: skip
    readings = ReadingSet(nvidia_smi_csv.parse(raw).readings)
    assert [one.state for one in readings.of("temperature")] == [
        ReadingState.NOT_APPLICABLE,
        ReadingState.FAILED,
    ]
    assert [one.state for one in readings.of("power_draw")] == [ReadingState.MEASURED, ReadingState.FAILED]
    assert [one.text for one in readings.of("throttle_hw_thermal_slowdown", device="gpu:0")] == ["Active"]
    assert readings.of("throttle_hw_slowdown", device="gpu:1")[0].state is ReadingState.UNSUPPORTED


def test_csv_of_an_unknown_field_is_a_problem_and_no_reading() -> None:
    found = nvidia_smi_csv.parse(b'Field "gpu_recovery_acton" is not a valid field to query.\n')
    assert found.readings == ()
    assert "not a valid field" in found.problems[0]
