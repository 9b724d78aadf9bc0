"""Does every layout of nvidia-smi's XML give the same readings, and are the ways of having no value kept apart?"""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.validation.parsers.nvidia_smi_xml import parse
from provisioning.validation.reading import Reading, ReadingSet, ReadingState
from tests.provisioning.validation.healthy import gpu_xml, smi_xml

XML = "nvidia-smi-xml"


def read(captures: Path, name: str, *edits: tuple[str, str]) -> ReadingSet:
    """A capture with listed edits (old text, new text); an edit that finds nothing is an error of the test."""
    text = (captures / XML / name).read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return ReadingSet(parse(text.encode()).readings)


def one(readings: ReadingSet, metric: str, device: str = "gpu:0") -> Reading:
    found = readings.last(metric, device)
    assert found is not None, metric
    return found


@pytest.mark.parametrize(
    ("name", "watts"), [("a10g.xml", 25.58), ("a100-sxm4-v12.xml", 67.03), ("rtx-3060-v12.xml", 11.63), ("rtx-4000-sff-ada-v13.xml", 8.44), ("tesla-t4.xml", 26.78)]
)  # fmt: skip
def test_power_is_found_in_every_layout(captures: Path, name: str, watts: float) -> None:
    found = one(read(captures, name), "power_draw")
    assert (found.number, found.unit) == (watts, "W")


def test_power_that_vanished_with_a_driver_update_is_missing_and_not_zero(captures: Path) -> None:
    edit = ("<instant_power_draw>", "<instant_watts>"), ("<average_power_draw>", "<average_watts>")
    closing = ("</instant_power_draw>", "</instant_watts>"), ("</average_power_draw>", "</average_watts>")
    found = one(read(captures, "rtx-3060-v12.xml", *edit, *closing), "power_draw")
    assert (found.state, found.value) == (ReadingState.MISSING, None)


def test_attached_and_described_gpus_are_counted_apart(captures: Path) -> None:
    readings = read(captures, "a100-sxm4-v12.xml")
    assert one(readings, "gpus_attached", "node").number == 4
    assert one(readings, "gpu_elements", "node").number == 1


def test_an_almost_empty_gpu_gives_what_it_has_and_misses_the_rest(captures: Path) -> None:
    readings = read(captures, "gtx-1070-ti.xml")
    assert one(readings, "gpu_model").text == "GeForce GTX 1070 Ti"
    assert one(readings, "power_draw").state is ReadingState.NOT_APPLICABLE
    assert one(readings, "ecc_mode").state is ReadingState.MISSING
    assert one(readings, "gpus_attached", "node").state is ReadingState.MISSING


def test_remapped_rows_may_be_a_block_or_the_bare_text_na(captures: Path) -> None:
    assert one(read(captures, "a10g.xml"), "row_remapping").text == "yes"
    bare = read(captures, "rtx-3060-v12.xml")
    assert one(bare, "row_remapping").state is ReadingState.NOT_APPLICABLE
    assert one(bare, "remap_pending").state is ReadingState.NOT_APPLICABLE


def test_margin_to_the_limit_is_the_same_thing_in_both_layouts(captures: Path) -> None:
    absolute, headroom = read(captures, "a10g.xml"), read(captures, "rtx-4000-sff-ada-v13.xml")
    assert one(absolute, "temperature_margin").number == 88 - 17
    assert one(headroom, "temperature_margin").number == 49
    assert one(headroom, "temperature_margin").told("layout") == "headroom"


def test_headroom_of_3_is_hotter_than_49(captures: Path) -> None:
    edit = ("<gpu_temp_tlimit>49 C<", "<gpu_temp_tlimit>3 C<")
    assert one(read(captures, "rtx-4000-sff-ada-v13.xml", edit), "temperature_margin").number == 3


def test_temperature_err_is_a_failed_read(captures: Path) -> None:
    readings = read(captures, "a10g.xml", ("<gpu_temp>17 C<", "<gpu_temp>ERR!<"))
    assert one(readings, "temperature").state is ReadingState.FAILED
    assert one(readings, "temperature_margin").state is ReadingState.FAILED


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("N/A", ReadingState.NOT_APPLICABLE),
        ("[N/A]", ReadingState.NOT_APPLICABLE),
        ("[Not Supported]", ReadingState.UNSUPPORTED),
        ("ERR!", ReadingState.FAILED),
        ("Unknown Error", ReadingState.FAILED),
        ("[GPU is lost]", ReadingState.FAILED),
        ("Requested functionality has been deprecated", ReadingState.RETIRED),
        ("9223372036854775794", ReadingState.UNSUPPORTED),
        ("9223372036854775792", ReadingState.MISSING),
        ("", ReadingState.MISSING),
        ("nan", ReadingState.FAILED),
        ("12 furlongs", ReadingState.FAILED),
    ],
)
def test_the_ways_of_having_no_value_are_told_apart(captures: Path, text: str, state: ReadingState) -> None:
    readings = read(captures, "a10g.xml", ("<dram_uncorrectable>0<", f"<dram_uncorrectable>{text}<"))
    found = one(readings, "ecc_dram_uncorrectable")
    assert (found.state, found.value) == (state, None)


def test_sram_errors_in_two_parts_are_one_number() -> None:
    raw = smi_xml({2: {"sram_parity": "3", "sram_secded": "4"}})
    assert one(ReadingSet(parse(raw).readings), "ecc_sram_uncorrectable", "gpu:2").number == 7


def test_sram_errors_with_one_unread_part_are_not_a_sum() -> None:
    raw = smi_xml({2: {"sram_parity": "3", "sram_secded": "ERR!"}})
    assert (
        one(ReadingSet(parse(raw).readings), "ecc_sram_uncorrectable", "gpu:2").state is ReadingState.FAILED
    )


def test_throttle_flags_and_counters_have_one_name_across_schemas(captures: Path) -> None:
    assert one(read(captures, "a10g.xml"), "throttle_hw_slowdown").text == "Not Active"
    new = read(captures, "rtx-4000-sff-ada-v13.xml")
    assert one(new, "throttle_hw_slowdown").text == "Not Active"
    assert one(new, "throttle_time_sw_power_cap").number == 4251825415


@pytest.mark.parametrize(
    "spelling", ["GPU 0000:91:00.0", "GPU0000:91:00.0", "GPU 00000000:91:00.0", "GPU3: 0000:91:00.0"]
)
def test_a_lost_gpu_in_a_line_before_the_xml_is_read_and_so_is_the_xml(spelling: str) -> None:
    line = f"Unable to determine the device handle for {spelling}: GPU is lost.  Reboot the system to recover this GPU\n"
    readings = ReadingSet(parse(line.encode() + smi_xml(drop=(3,), attached=7)).readings)
    lost = readings.of("gpu_lost")
    assert [found.device for found in lost] == ["pci:0000:91:00.0"]
    assert one(readings, "gpu_elements", "node").number == 7


def test_a_cut_off_xml_keeps_the_gpus_before_the_cut_and_counts_none() -> None:
    raw = smi_xml()
    found = parse(raw[: int(len(raw) * 0.6)])
    readings = ReadingSet(found.readings)
    assert "cut off" in found.problems[0]
    assert one(readings, "gpu_elements", "node").state is ReadingState.FAILED
    assert 0 < len(readings.measured("gpu_model")) < 8


def test_a_driver_that_does_not_start_is_told_in_its_own_words() -> None:
    found = parse(b"Failed to initialize NVML: Driver/library version mismatch\n")
    assert [(one.metric, one.text) for one in found.readings] == [
        ("driver_failure", "Failed to initialize NVML: Driver/library version mismatch")
    ]


def test_gpus_are_numbered_in_the_order_of_the_output_with_their_addresses() -> None:
    readings = ReadingSet(parse(smi_xml()).readings)
    assert one(readings, "pci_address", "gpu:0").text == "0000:1b:00.0"
    assert one(readings, "pci_address", "gpu:7").text == "0000:df:00.0"


def test_the_builder_of_healthy_xml_refuses_a_field_it_does_not_have() -> None:
    with pytest.raises(AssertionError):
        gpu_xml(0, product_nmae="x")
