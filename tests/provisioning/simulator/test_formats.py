"""Do the stand-ins print what the real tools print? Each is held against the real tool's captured output, by its structure."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.provisioning.simulator.conftest import SimNode, make

NCCL_ROW = re.compile(
    r"^ +(\d+) +(\d+) +float +sum +-1 +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$",
    re.MULTILINE,
)
NCCL_RANK = re.compile(
    r"^#  Rank +(\d+) Group  0 Pid +\d+ on +\S+ device +(\d+) \[0x[0-9a-f]{2}\] (NVIDIA .+)$", re.MULTILINE
)
LINK = re.compile(r"^\s+ Link (\d+): ([\d.]+) GB/s$", re.MULTILINE)
STREAM_ROW = re.compile(
    r"^(STREAM_[A-Z]+)_double_gpu_(\d+)_buffer_(\d+)_block_(\d+)\s+([\d.]+) ([\d.]+)$", re.MULTILINE
)
STREAM_DEVICE = re.compile(
    r'^Device (\d+): "(.+)"  (\d+) SMs\(([\d.]+)\)  Memory: ([\d.]+)MHz x (\d+)-bit = ([\d.]+) GB/s PEAK   ECC is ON$',
    re.MULTILINE,
)


def paths(element: ET.Element, above: str = "") -> set[str]:
    """Every element's path below this one; repeated elements count once."""
    found: set[str] = set()
    for child in element:
        place = f"{above}/{child.tag}"
        found |= {place} | paths(child, place)
    return found


def gpu_of(text: str) -> ET.Element:
    found = ET.fromstring(text).find("gpu")  # noqa: S314 - our own text and a known capture
    assert found is not None
    return found


def shape(value: Any) -> Any:
    """A JSON document with its leaves replaced by their type, and lists by what their members look like."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return sorted({json.dumps(shape(item), sort_keys=True) for item in value})
    return type(value).__name__


def test_xml_of_a_new_driver_has_the_layout_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = paths(gpu_of((captures / "nvidia-smi-xml/rtx-3060-v12.xml").read_text()))
    # The capture's board is an older kind: absolute temperature limits, no ECC, N/A where a data centre board has blocks.
    older = {path for path in real if path.startswith("/temperature/gpu_temp_") and "tlimit" not in path}
    own = paths(gpu_of(healthy.ask("nvidia-smi", "-q", "-x").out))

    assert real - older <= own
    assert {path for path in own - real if not path.startswith(("/remapped_rows/", "/temperature/"))} == set()


def test_xml_of_an_old_driver_has_the_layout_of_the_capture(tmp_path: Path, captures: Path) -> None:
    sim = make(tmp_path, sku="a100-sxm4-80g")[0]
    real = paths(gpu_of((captures / "nvidia-smi-xml/a100-sxm4-v12.xml").read_text()))
    mig = {path for path in real if path.startswith("/mig_devices/")}
    own = paths(gpu_of(sim.ask("nvidia-smi", "-q", "-x").out))

    assert sim.state["driver"]["loaded"].startswith("550.")
    # Between 535 (the capture) and 550 the SRAM counter was split in two.
    assert real - own - mig == {
        "/ecc_errors/volatile/sram_uncorrectable",
        "/ecc_errors/aggregate/sram_uncorrectable",
    }
    assert "/gpu_power_readings/power_draw" in own
    assert "/gpu_recovery_action" not in own


@pytest.mark.parametrize("name", ["a10g.xml", "rtx-4000-sff-ada-v13.xml"])
def test_remapped_rows_and_headroom_are_named_as_in_the_captures(
    healthy: SimNode, captures: Path, name: str
) -> None:
    real = gpu_of((captures / "nvidia-smi-xml" / name).read_text())
    own = gpu_of(healthy.ask("nvidia-smi", "-q", "-x").out)
    later = {"/remapped_row_corr_inactive", "/remapped_row_unc_inactive"}

    for block in ["remapped_rows", *(["temperature"] if "ada" in name else [])]:
        theirs, ours = real.find(block), own.find(block)
        assert theirs is not None
        assert ours is not None
        assert paths(theirs) - later == paths(ours)


def test_xml_values_are_spelled_as_in_the_captures(healthy: SimNode) -> None:
    own = gpu_of(healthy.ask("nvidia-smi", "-q", "-x").out)
    spelled = {
        "fb_memory_usage/total": r"81559 MiB",
        "gpu_power_readings/instant_power_draw": r"\d+\.\d\d W",
        "clocks/sm_clock": r"\d+ MHz",
        "pci/pci_gpu_link_info/link_widths/current_link_width": r"16x",
        "temperature/gpu_temp": r"\d+ C",
        "uuid": r"GPU-[0-9a-f-]{36}",
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_max": r"\d+ bank\(s\)",
        "pci/pci_device_id": r"233010DE",
        "mig_devices": r"\s+None\s+",
        "pci/pci_bus_id": r"00000000:[0-9A-F]{2}:00\.0",
        "fabric/state": "Completed",
        "fabric/status": "Success",
    }
    for path, pattern in spelled.items():
        assert re.fullmatch(pattern, own.findtext(path) or ""), path


def test_xml_begins_as_the_real_one(healthy: SimNode, captures: Path) -> None:
    own = healthy.ask("nvidia-smi", "-q", "-x").out.splitlines()
    real = (captures / "nvidia-smi-xml/rtx-3060-v12.xml").read_text().splitlines()

    assert own[1:3] == real[1:3]
    assert [line.split(">")[0] for line in own[3:7]] == [line.split(">")[0] for line in real[3:7]]
    assert own[-1] == real[-1] == "</nvidia_smi_log>"


def test_nvlink_lists_links_as_the_capture_does(tmp_path: Path, captures: Path) -> None:
    own = make(tmp_path, sku="a100-sxm4-80g")[0].ask("nvidia-smi", "nvlink", "-s").out
    real = (captures / "nvidia-smi-text/nvlink-status-a100.txt").read_text()
    head = re.compile(r"^GPU (\d+): (NVIDIA .+) \(UUID: GPU-[0-9a-f-]{36}\)$", re.MULTILINE)

    assert head.findall(own) == head.findall(real)
    assert LINK.findall(own) == LINK.findall(real)


def test_inactive_links_are_told_as_in_the_capture(sim: SimNode, captures: Path) -> None:
    sim.inject("nvlink-down", gpu=2, links=18)
    real = (captures / "nvidia-smi-text/nvlink-s-b200-all-inactive.txt").read_text().splitlines()
    own = sim.ask("nvidia-smi", "nvlink", "-s").out.splitlines()

    assert own[own.index(next(line for line in own if line.startswith("GPU 2:"))) + 1] == real[1]


def test_topology_has_the_columns_of_the_capture(healthy: SimNode, captures: Path) -> None:
    own = healthy.ask("nvidia-smi", "topo", "-m").out.splitlines()
    real = (captures / "nvidia-smi-text/topo-m-h100-partial.txt").read_text().splitlines()

    assert re.split(r"\s{2,}|\t", own[0].strip())[:16] == re.split(r"\s{2,}|\t", real[0].strip())[:16]
    assert own[0].endswith("CPU Affinity\tNUMA Affinity\tGPU NUMA ID")
    assert own[1].split("\t")[:9] == ["GPU0", " X ", *["NV18"] * 7]


def test_query_writes_csv_as_the_captures_do(healthy: SimNode, captures: Path) -> None:
    real = (captures / "nvidia-smi-csv/query-two-gpus.csv").read_text().splitlines()
    own = healthy.ask(
        "nvidia-smi", "--query-gpu=uuid,name,fan.speed,memory.used,index", "--format=csv"
    ).out.splitlines()
    recovery = healthy.ask("nvidia-smi", "--query-gpu=index,gpu_recovery_action", "--format=csv,noheader").out
    plain = healthy.ask(
        "nvidia-smi", "--query-gpu=memory.used,power.draw", "--format=csv,noheader,nounits"
    ).out.splitlines()

    assert {"fan.speed [%]", "memory.used [MiB]"} <= set(real[0].split(", "))
    assert own[0] == "uuid, name, fan.speed [%], memory.used [MiB], index"
    assert re.fullmatch(r"GPU-[0-9a-f-]{36}, NVIDIA H100 80GB HBM3, \[N/A\], 1 MiB, 0", own[1])
    assert (
        recovery
        == (captures / "nvidia-smi-csv/gpu_recovery_action-one-reset.csv")
        .read_text()
        .replace("Reset", "None")
        .rstrip()
        + "\n"
    )
    assert re.fullmatch(r"1, \d+\.\d\d", plain[0])


@pytest.mark.parametrize("fields", ["no_such_field", "index,temperature"])
def test_one_unknown_field_fails_the_whole_query(healthy: SimNode, fields: str) -> None:
    said = healthy.ask("nvidia-smi", f"--query-gpu={fields}", "--format=csv")

    assert said.rc == 2
    assert "is not a valid field to query" in said.out


def test_recovery_action_is_no_field_of_an_old_driver(tmp_path: Path) -> None:
    sim = make(tmp_path, sku="a100-sxm4-80g")[0]

    assert sim.ask("nvidia-smi", "--query-gpu=gpu_recovery_action", "--format=csv").rc == 2


def test_table_is_framed_as_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "nvidia-smi-text/table-err-fan.txt").read_text().splitlines()
    own = healthy.ask("nvidia-smi").out.splitlines()
    rows = [line for line in own if line.startswith("|   0  ")]

    assert real[0] in own
    assert [position for position, char in enumerate(rows[0]) if char == "|"] == [
        position for position, char in enumerate(real[1]) if char == "|"
    ]
    assert {len(line) for line in own[1:] if line.strip()} == {91}


@pytest.mark.parametrize("name", ["allreduce-a100-80g-8gpu.txt", "allreduce-a100-80g-2node.txt"])
def test_all_reduce_prints_the_table_of_the_captures(tmp_path: Path, captures: Path, name: str) -> None:
    real = (captures / "nccl-tests" / name).read_text()
    nodes = make(tmp_path, 2, sku="a100-sxm4-80g")
    if "2node" in name:
        own = nodes[0].ask(
            "mpirun",
            "-np",
            "16",
            "-H",
            "gpu-001:8,gpu-002:8",
            "all_reduce_perf",
            "-b",
            "32M",
            "-e",
            "1G",
            "-f",
            "2",
            "-g",
            "1",
        )
    else:
        own = nodes[0].ask("all_reduce_perf", "-b", "32M", "-e", "1G", "-f", "2", "-g", "8")

    def comments(text: str) -> list[str]:
        return [line.rstrip() for line in text.splitlines() if line.startswith("#  ") and "Rank" not in line]

    assert comments(own.out) == comments(real)
    assert [row[:2] for row in NCCL_ROW.findall(own.out)] == [row[:2] for row in NCCL_ROW.findall(real)]
    assert [rank[0::2] for rank in NCCL_RANK.findall(own.out)] == [
        (rank, name)
        for rank, _, name in NCCL_RANK.findall(
            real.replace("{hostname}", "a").replace("{host1}", "a").replace("{host2}", "b")
        )
    ]
    assert [len(line) for line in own.out.splitlines() if NCCL_ROW.match(line)] == [
        len(line) for line in real.splitlines() if NCCL_ROW.match(line)
    ]
    for pattern in (
        r"^# Out of bounds values : 0 OK$",
        r"^# Avg bus bandwidth    : [\d.]+ ?$",
        r"^NCCL version 2\.\d+\.\d+\+cuda1\d\.\d$",
    ):
        assert re.search(pattern, real, re.MULTILINE)
        assert re.search(pattern, own.out, re.MULTILINE)


def test_all_reduce_numbers_agree_with_each_other(healthy: SimNode) -> None:
    own = healthy.ask("all_reduce_perf", "-b", "1M", "-e", "8G", "-f", "2", "-g", "8").out
    rows = NCCL_ROW.findall(own)

    for row in rows:
        size, time, algbw, busbw = int(row[0]), float(row[2]), float(row[3]), float(row[4])
        assert busbw == pytest.approx(algbw * 2 * 7 / 8, rel=0.002)
        assert algbw == pytest.approx(size / time / 1e3, rel=0.01)
    plateau = sorted(float(row[4]) for row in rows if int(row[0]) >= 1 << 30)
    assert plateau[0] > 0.97 * 450
    assert (
        float(rows[0][4]) < 0.2 * 450
    )  # small messages are bound by latency: an average over all sizes says nothing


def test_too_few_slots_are_refused_as_in_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "nccl-tests/mpirun-not-enough-slots.txt").read_text().splitlines()
    said = healthy.ask(
        "mpirun",
        "-np",
        "16",
        "-H",
        "gpu-001:8",
        "all_reduce_perf",
        "-b",
        "1G",
        "-e",
        "8G",
        "-f",
        "2",
        "-g",
        "1",
    )

    assert said.rc == 1
    assert said.out == ""
    assert said.err.splitlines()[:3] == real[:3]
    assert said.err.splitlines()[-1] == real[-1]


def test_gemm_block_has_the_keys_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "gemm/gemm-sweep-bf16.stdout").read_text().split()
    own = healthy.ask("gpu-gemm").out
    first = own.split("gpu_index=1\n")[0].splitlines()

    assert [line.split("=")[0] for line in first] == [
        "gpu_index",
        *(line.split("=")[0] for line in real if "=" in line or "PASS" in line),
    ]
    assert own.count("gpu_index=") == own.count("GEMM_SWEEP_PASS") == 8


def test_gemm_numbers_agree_with_each_other(healthy: SimNode) -> None:
    for block in healthy.ask("gpu-gemm").out.split("GEMM_SWEEP_PASS\n")[:-1]:
        told = dict(line.split("=", 1) for line in block.splitlines())
        side = int(told["gemm_shape"].split("x")[0])
        done = 2 * side**3 * int(told["gemm_iterations"]) / float(told["total_kernel_ms"]) / 1e9
        assert float(told["achieved_tflops"]) == pytest.approx(done, rel=1e-4)
        assert 0.97 < float(told["achieved_tflops"]) / 769 < 1.03


def test_stream_has_the_rows_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "gpu-stream/gpu_stream-blackwell.log").read_text()
    own = healthy.ask("gpu_stream").out

    def rows(text: str) -> list[tuple[str, ...]]:
        return [row[:4] for row in STREAM_ROW.findall(text) if row[1] == "0"]

    assert rows(own) == rows(real)
    assert len(STREAM_DEVICE.findall(own)) == 8
    assert STREAM_DEVICE.search(real)
    assert own.splitlines()[:6] == real.splitlines()[:6]
    for row in STREAM_ROW.findall(own):
        assert float(row[5]) == pytest.approx(float(row[4]) / 3352.32 * 100, abs=0.02)


def test_nvbandwidth_prints_matrices_as_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "nvbandwidth/nvbandwidth-gh200.log").read_text()
    own = healthy.ask("nvbandwidth", "-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce").out
    headings = [
        line
        for line in real.splitlines()
        if line.startswith(
            (
                "Running host_to_device_memcpy_ce",
                "Running device_to_host_memcpy_ce",
                "memcpy CE CPU(row) -> ",
                "memcpy CE CPU(row) <- ",
            )
        )
    ][:4]

    assert [line for line in own.splitlines() if line.startswith(("Running", "memcpy"))] == headings
    assert own.splitlines()[:2] == real.splitlines()[:2]
    assert [line.split()[:1] for line in own.splitlines()[3:6]] == [
        line.split()[:1] for line in real.splitlines()[3:6]
    ]
    row = re.compile(r"^ 0( +\d+\.\d\d)+$", re.MULTILINE)
    assert len(row.findall(own)) == 2
    assert row.findall(real)
    sums = {name: float(value) for name, value in re.findall(r"^SUM (\w+) ([\d.]+)$", own, re.MULTILINE)}
    assert set(sums) == {"host_to_device_memcpy_ce", "device_to_host_memcpy_ce"}
    assert own.splitlines()[-3:-1] == real.splitlines()[-2:]


def test_nvbandwidth_of_peers_leaves_the_diagonal_out(healthy: SimNode) -> None:
    own = healthy.ask("nvbandwidth", "-t", "device_to_device_memcpy_read_ce").out
    rows = re.findall(r"^ (\d) (.+)$", own, re.MULTILINE)

    assert [row[1].split().index("N/A") for row in rows] == list(range(8))
    total = sum(float(cell) for row in rows for cell in row[1].split() if cell != "N/A")
    assert f"SUM device_to_device_memcpy_read_ce {total:.1f}"[:-2] in own


def test_nvbandwidth_refuses_a_test_it_does_not_know(healthy: SimNode) -> None:
    said = healthy.ask("nvbandwidth", "-t", "nonsense")

    assert said.rc == 1
    assert "not found" in said.out


@pytest.mark.parametrize(
    ("level", "name"),
    [("1", "diag-dcgm4-gb10-level1.json"), ("2", "diag-dcgm4-gb10-level2-partial-skip.json")],
)
def test_dcgm_diagnostic_has_the_shape_of_the_capture(
    sim: SimNode, captures: Path, level: str, name: str
) -> None:
    real = json.loads((captures / "dcgmi" / name).read_text())
    own = json.loads(sim.ask("dcgmi", "diag", "-r", level, "-j").out)

    def tests(report: dict[str, Any]) -> list[tuple[str, str]]:
        return [
            (group["category"], test["name"])
            for group in report["DCGM Diagnostic"]["test_categories"]
            for test in group["tests"]
        ]

    assert set(own) == set(real)
    assert tests(own) == tests(real)
    assert shape(own["entity_groups"]) == shape(real["entity_groups"])
    assert shape(own["metadata"]) == shape(real["metadata"])


def test_dcgm_warning_has_the_shape_of_the_capture(sim: SimNode, captures: Path) -> None:
    sim.inject("remap-failure", gpu=0)
    real = json.loads((captures / "dcgmi/diag-dcgm4-gb10-level1.json").read_text())
    said = sim.ask("dcgmi", "diag", "-r", "1", "-j")
    own = json.loads(said.out)

    def first(report: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = report["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["results"][0]
        return found

    assert shape(first(own)) == shape(first(real))
    assert said.rc == 0  # the real exit status says nothing either


def test_dcgm_health_has_the_shape_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = json.loads((captures / "dcgmi/health-c-j-healthy-while-gpu1-unusable.json").read_text())

    assert json.loads(healthy.ask("dcgmi", "health", "-c", "-j").out) == real


def test_lspci_has_the_lines_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = (captures / "lspci/lspci-vvv-8xh100-4nvswitch-cx7.txt").read_text()
    own = healthy.ask("lspci", "-vvv").out
    gpu_line = re.compile(
        r"^([0-9a-f]{2}):00\.0 3D controller: NVIDIA Corporation Device 2330 \(rev a1\)$", re.MULTILINE
    )
    link_line = re.compile(r"^\t\tLnkSta:\tSpeed 32GT/s \(ok\), Width x16 \(ok\)$", re.MULTILINE)

    assert gpu_line.findall(own) == gpu_line.findall(real)
    assert re.findall(r"^(..):00\.0 Bridge: (.+)$", own, re.MULTILINE) == re.findall(
        r"^(..):00\.0 Bridge: (.+)$", real, re.MULTILINE
    )
    assert len(link_line.findall(own)) == 16
    assert link_line.search(real)
    block = own.split("\n\n")[0].splitlines()
    real_block = real.split("\n\n")[0].splitlines()
    known = {line.split(":")[0] for line in real_block}
    assert {line.split(":")[0] for line in block[1:]} <= known


def test_lspci_with_numbers_is_spelled_as_the_capture(healthy: SimNode, captures: Path) -> None:
    line = re.compile(
        r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d 3D controller \[0302\]: NVIDIA Corporation .+ \[10de:[0-9a-f]{4}\] \(rev a1\)$",
        re.MULTILINE,
    )

    assert len(line.findall((captures / "lspci/lspci-nn-a100.txt").read_text())) == 8
    assert len(line.findall(healthy.ask("lspci", "-nn").out)) == 8
    assert len(healthy.ask("lspci", "-d", "15b3:").out.splitlines()) == 8


def test_sysfs_has_the_files_of_the_capture(healthy: SimNode, captures: Path) -> None:
    real = dict(
        line.split(": ", 1)
        for line in (captures / "infiniband/sys-class-infiniband-h100.txt").read_text().splitlines()
        if ": " in line
    )
    base = healthy.root / "sys/class/infiniband"
    own = {
        str(path.relative_to(base)): path.read_text().strip() for path in base.rglob("*") if path.is_file()
    }
    mine = {path for path in own if path.startswith("mlx5_0/")}

    assert mine - {"mlx5_0/ports/1/lid"} <= set(real)
    for path in ("state", "phys_state", "rate", "link_layer"):
        assert own[f"mlx5_0/ports/1/{path}"] == real[f"mlx5_0/ports/1/{path}"]
    assert {path.split("/")[0] for path in own} == {f"mlx5_{port}" for port in range(8)}


def test_kernel_lines_are_stamped_as_in_the_captures(sim: SimNode, captures: Path) -> None:
    sim.inject("xid-94")
    stamp = re.compile(
        r"^kern  :\w+ *: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}\+00:00 NVRM: Xid \(PCI:[0-9a-f:]{7,}\): \d+, ",
        re.MULTILINE,
    )

    assert stamp.search((captures / "dmesg/xid-13-burst-iso.log").read_text())
    assert stamp.search(sim.ask("dmesg", "--decode", "--time-format=iso").out)
    assert re.search(
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000 gpu-001 kernel: NVRM: Xid ",
        sim.ask("journalctl", "-k", "-o", "short-iso").out,
        re.MULTILINE,
    )
    assert re.search(r"^\[ *\d+\.\d{6}\] NVRM: Xid ", sim.ask("dmesg").out, re.MULTILINE)


def test_xid_79_is_logged_line_by_line_as_in_the_capture(sim: SimNode, captures: Path) -> None:
    sim.inject("xid-79")
    real = [
        line.split("] ", 1)[1]
        for line in (captures / "dmesg/xid-sxid-lines.txt").read_text().splitlines()
        if "678174" in line
    ]
    own = [
        line.split("kernel: ")[1] for line in sim.ask("journalctl", "-k", "-o", "short-iso").out.splitlines()
    ]
    board = sim.state["gpus"][3]

    for line in real:
        line = line.replace("0000:91:00", "0000:5d:00").replace("1653723052734", board["serial"])
        assert re.sub(r"GPU-[0-9a-f-]{36}", board["uuid"], line) in own


def test_chronyc_prints_fourteen_columns(healthy: SimNode) -> None:
    columns = healthy.ask("chronyc", "-c", "tracking").out.strip().split(",")

    assert len(columns) == 14
    assert abs(float(columns[4])) < 0.001
    assert columns[13] == "Normal"
    assert "Leap status     : Normal\n" in healthy.ask("chronyc", "tracking").out


def test_ibstat_prints_a_block_per_card(healthy: SimNode) -> None:
    own = healthy.ask("ibstat").out
    block = re.compile(
        r"^CA 'mlx5_\d'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: [\d.]+\n\tHardware version: 0\n\tNode GUID: 0x[0-9a-f]{16}\n"
        r"\tSystem image GUID: 0x[0-9a-f]{16}\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: \d+\n"
        r"\t\tLMC: 0\n\t\tSM lid: 1\n\t\tCapability mask: 0x[0-9a-f]{8}\n\t\tPort GUID: 0x[0-9a-f]{16}\n\t\tLink layer: InfiniBand\n",
        re.MULTILINE,
    )

    assert len(block.findall(own)) == 8
    assert healthy.ask("ibstat", "-l").out.split() == [f"mlx5_{port}" for port in range(8)]
    assert healthy.ask("ibstat", "mlx5_9").rc == 255
