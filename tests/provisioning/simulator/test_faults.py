"""Does every fault show in the tools that would show it on a real machine, and in no other, and is all well after mending?"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from provisioning.simulator import faults, figures
from tests.provisioning.simulator.conftest import SimNode, make

XML, CSV = "nvidia-smi -q -x", "nvidia-smi --query-gpu=index,{} --format=csv,noheader"
NVLINK, TABLE, LIST = "nvidia-smi nvlink -s", "nvidia-smi", "nvidia-smi -L"
LOG, DMESG = "journalctl -k -b -o short-iso --no-pager", "dmesg --time-format=iso"
LSPCI, IBSTAT, CLOCK, MOUNTS = (
    "lspci -vvv",
    "ibstat",
    "chronyc -c tracking",
    "findmnt -J -o TARGET,SOURCE,FSTYPE,OPTIONS",
)
DIAG, HEALTH = "dcgmi diag -r 1 -j", "dcgmi health -c -j"
FABRIC = "systemctl show nvidia-fabricmanager -p ActiveState,SubState,ExecMainStatus"
GEMM, STREAM, COPY, NCCL = (
    "gpu-gemm",
    "gpu_stream",
    "nvbandwidth -t host_to_device_memcpy_ce",
    "all_reduce_perf -b 1G -e 8G -f 2 -g 8",
)
CLUSTER = "mpirun -np 16 -H gpu-001:8,gpu-002:8 all_reduce_perf -b 1G -e 8G -f 2 -g 1"
PASSIVE = (XML, NVLINK, LIST, LOG, LSPCI, IBSTAT, MOUNTS, DIAG, HEALTH, FABRIC)

# fault -> for each command that shows it, a pattern its output must hold (or the fault must at least change it, for None)
SHOWN: dict[str, dict[str, str | None]] = {
    "thermal": {
        XML: r"<clocks_event_reason_hw_thermal_slowdown>Active</(?s:.*)<gpu_temp>89 C</gpu_temp>\s*<gpu_temp_tlimit>-2 C<",
        CSV.format(
            "temperature.gpu,clocks_event_reasons.active,clocks.sm"
        ): r"^0, 89, 0x0000000000000068, 1861 MHz$",
        HEALTH: r'"value" : "Warning"',
        TABLE: r"N/A   89C",
    },
    "slow-gemm": {
        XML: r"sw_power_cap>Active<(?s:.*)<current_power_limit>595.00 W<(?s:.*)<default_power_limit>700.00 W<",
        CSV.format("power.limit"): r"^7, 595.00 W$",
    },
    "slow-hbm": {},
    "lies": {},
    "nvlink-down": {
        NVLINK: r"GPU 3(?s:.*?)Link 5: <inactive>",
        LOG: r"Xid \(PCI:0000:5d:00\): 74,",
        DMESG: r"\+00:00 NVRM: Xid .*: 74,",
        HEALTH: r"NVLink 5 of GPU 3 is currently down",
        "nvidia-smi topo -m": r"NV17",
        "dcgmi nvlink -s": r"gpuId 3:\n\s+U U U U U D U",
    },
    "ecc-uncorrectable": {
        XML: r"<dram_uncorrectable>2</dram_uncorrectable>(?s:.*)<remapped_row_pending>Yes<",
        LOG: r": 48, (?s:.*): 63,",
        DIAG: r'"status": "Fail"',
        HEALTH: r'"value" : "Failure"',
        CSV.format("gpu_recovery_action"): r"^3, Reset$",
        CSV.format("ecc.errors.uncorrected.volatile.total"): r"^3, 2$",
    },
    "remap-pending": {
        XML: r"<gpu_recovery_action>Drain and Reset<(?s:.*)<remapped_row_pending>Yes<",
        LOG: r": 63,",
        DIAG: r"remappings are pending",
        CSV.format("remapped_rows.pending"): r"^3, 1$",
    },
    "remap-failure": {
        XML: r"<remapped_row_failure>Yes<(?s:.*)<row_remapper_histogram_none>1 bank\(s\)<",
        LOG: r": 64,",
        DIAG: r"row remapping failed",
        HEALTH: r"Failure",
        "nvidia-smi -q": r"Remapping Failure Occurred\s*: Yes",
    },
    "xid-79": {
        XML: r"\AUnable to determine the device handle for GPU3: 0000:5D:00\.0: Unknown Error\n<\?xml(?s:.*)<attached_gpus>8<",
        LOG: r": 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus\.\n(?s:.*)GPU 0000:5d:00\.0: GPU has fallen off",
        LSPCI: r"5d:00\.0 3D controller: .* \(rev ff\).*\n\t!!! Unknown header type 7f",
        DIAG: r"is lost",
        HEALTH: r"Failure",
        LIST: r"Unable to determine the device handle for GPU3",
        NVLINK: r"GPU 2(?s:.*)GPU 4",
        GEMM: r"gpu_index=3\n(?s:.*?)GEMM_SWEEP_FAIL",
        STREAM: r"\A\Z",
        COPY: r"CUDA_ERROR",
        NCCL: r"unhandled cuda error",
        CLUSTER: r"gpu-001: Test NCCL failure",
    },
    "gpu-lost": {
        XML: r"\A<\?xml(?s:.*)<attached_gpus>8<",
        LOG: r"NVRM: The NVIDIA GPU 0000:5d:00\.0\n.*PCI ID: 10de:2330\)",
        LSPCI: r"rev ff",
        DIAG: r"is lost",
        HEALTH: r"Failure",
        LIST: r"GPU 2(?s:.*)GPU 4",
        NVLINK: r"GPU 2(?s:.*)GPU 4",
        NCCL: r"unhandled cuda error",
    },
    "gpu-missing": {
        XML: r"<attached_gpus>7<",
        LIST: r"GPU 6(?!(?s:.*)GPU 7)",
        NVLINK: r"GPU 6",
        LSPCI: r"4c:00\.0 3D(?!(?s:.*)5d:00\.0 3D)",
        DIAG: r'"entity_id": 6',
        GEMM: r"gpu_index=6",
        NCCL: r"invalid device ordinal",
    },
    "xid-94": {LOG: r": 94, pid=41207, name=python3, Contained"},
    "pcie-downgrade": {
        XML: r"<current_link_width>8x<",
        LSPCI: r"LnkSta:\tSpeed 32GT/s \(ok\), Width x8 \(downgraded\)",
        CSV.format("pcie.link.width.current"): r"^2, 8$",
    },
    "ib-flap": {LOG: r"infiniband mlx5_1: Port: 1 Link DOWN\n(?s:.*)mlx5_1: Port: 1 Link ACTIVE"},
    "ib-rate": {IBSTAT: r"CA 'mlx5_2'(?s:.*?)Rate: 200\n"},
    "ib-init": {
        IBSTAT: r"CA 'mlx5_4'(?s:.*?)State: Initializing\n\t\tPhysical state: LinkUp",
        "ibv_devinfo": r"mlx5_4(?s:.*?)PORT_INIT",
    },
    "clock-drift": {CLOCK: r"^0A00000A,10.0.0.10,3,[\d.]+,0\.250000000,.*,Normal$"},
    "fabric-in-progress": {
        XML: r"<state>In Progress</state>\s*<status>N/A<",
        FABRIC: r"ExecMainStatus=1\nActiveState=failed\nSubState=failed\n",
        LOG: r"SXid \(PCI:0000:83:00\.0\): 20034, Fatal",
        NCCL: r"system not yet initialized",
        COPY: r"CUDA_ERROR_802",
    },
    "driver-mismatch": {
        XML: r"\AFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 570\.195\n\Z",
        LIST: r"version mismatch",
        NVLINK: r"version mismatch",
        LOG: r"API mismatch: the client has the version 570.195.03, but",
        DIAG: r"\A\Z",
        HEALTH: r"\A\Z",
        NCCL: r"unsupported display driver",
    },
    "driver-old": {
        XML: r"<driver_version>550.90.07<(?s:.*)<reset_required>No<",
        CSV.format("driver_version"): r"^0, 550.90.07$",
        LOG: r"Kernel Module  550\.90\.07",
        DIAG: r'"Driver Version Detected": "550\.90\.07"',
    },
    "mount-missing": {MOUNTS: None},
    "garbage": {XML: None, LIST: None, NVLINK: None},
    "tool-missing": {DIAG: None, HEALTH: None},
    "dcgm-skip": {DIAG: r'"status": "Skip"(?!(?s:.*)"Pass")'},
    "nccl-wrong": {
        NCCL: r"float     sum      -1 .*\s3(?s:.*)Out of bounds values : 24 FAILED",
        CLUSTER: r"24 FAILED",
    },
    "apt-fails": {"apt-get install -y jq": r"\A\Z"},
    "reboot-loop": {},
    # These show in how long a call takes, or in that no call is possible: tested below and with the connection plugin.
    "hang": {},
    "slow": {},
    "unreachable": {},
}
# fault -> what is left of each figure, for the GPU (or node) it strikes
LEFT: dict[str, dict[str, float]] = {
    "thermal": {"gemm_bf16": 0.94, "nccl_busbw": 0.988},
    "slow-gemm": {"gemm_bf16": 0.94},
    "slow-hbm": {"mem_bw": 0.94, "gemm_bf16": 0.982},
    "lies": dict.fromkeys(faults.ALL_FIGURES, 0.90),
    "nvlink-down": {"p2p_bw": 0.944, "nccl_busbw": 0.944, "cluster_busbw": 0.9888},
    "pcie-downgrade": {"h2d_bw": 0.5, "d2h_bw": 0.5},
    "ib-flap": {"cluster_busbw": 0.97},
    "ib-rate": {"cluster_busbw": 0.5},
    "ib-init": {"cluster_busbw": 0.5},
    "driver-old": {"gemm_bf16": 0.99, "nccl_busbw": 0.99},
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[SimNode]:
    return make(tmp_path_factory.mktemp("faulty"), 2)


def steady(output: str) -> str:
    """Without what changes by the second."""
    return re.sub(r"<timestamp>.*?</timestamp>|^\w{3} \w{3} .*\d{4} *$", "", output, flags=re.MULTILINE)


def ask(sim: SimNode, command: str, fault: str) -> str:
    """What the command prints; through its launcher where the fault lies in how it is started or in its bytes."""
    return (
        repr(sim.run(command).raw) if fault in ("garbage", "tool-missing") else sim.ask(*command.split()).out
    )


def test_every_fault_is_told_of_here() -> None:
    assert set(SHOWN) == set(faults.TABLE)
    assert set(LEFT) == {name for name, fault in faults.TABLE.items() if fault.weights}


@pytest.mark.parametrize("fault", [name for name in SHOWN if name not in ("hang", "unreachable", "slow")])
def test_fault_shows_where_it_would_on_a_real_node_and_nowhere_else(pair: list[SimNode], fault: str) -> None:
    sim = pair[0]
    watched = (*SHOWN[fault], IBSTAT) if fault in ("garbage", "tool-missing") else PASSIVE
    healthy = {command: steady(ask(sim, command, fault)) for command in watched}
    if fault == "mount-missing":
        sim.put("/etc/fstab", "filer:/x /mnt nfs defaults 0 0\n")
        sim.ask("mount", "/mnt")
    sim.inject(fault)
    try:
        for command, pattern in SHOWN[fault].items():
            if pattern is not None:
                output = ask(sim, command, fault)
                assert re.search(pattern, output, re.MULTILINE), f"{command}:\n{output[:3000]}"
        changed = {command for command in watched if steady(ask(sim, command, fault)) != healthy[command]}
    finally:
        sim.clear()

    assert changed == {command for command in SHOWN[fault] if command in watched} - (
        {MOUNTS} if fault == "mount-missing" else set()
    )
    assert {command: steady(ask(sim, command, fault)) for command in watched} == healthy


@pytest.mark.parametrize("fault", LEFT)
def test_fault_takes_its_share_of_each_figure(pair: list[SimNode], fault: str) -> None:
    sim = pair[0]
    sim.inject(fault)
    state = sim.state
    sim.clear()
    struck = state["faults"][fault]["params"].get("gpu")

    for metric in faults.ALL_FIGURES:
        assert figures.slowdown(state, metric, struck) == pytest.approx(LEFT[fault].get(metric, 1.0)), metric
        if struck is not None:
            assert figures.slowdown(state, metric, struck + 1) == 1.0, metric


@pytest.mark.parametrize(
    ("fault", "gpu", "slow"),
    [("thermal", "all", set(range(8))), ("thermal", 5, {5}), ("slow-gemm", "0", {0})],
)
def test_gpu_parameter_says_which_gpus_are_slow(sim: SimNode, fault: str, gpu: Any, slow: set[int]) -> None:
    def tflops() -> list[float]:
        return [float(value) for value in re.findall(r"achieved_tflops=([\d.]+)", sim.ask("gpu-gemm").out)]

    before = tflops()
    sim.inject(fault, gpu=gpu, factor=0.8)

    assert {
        index for index, (old, new) in enumerate(zip(before, tflops(), strict=True)) if new < old * 0.9
    } == slow


def test_two_faults_add_up(sim: SimNode) -> None:
    sim.inject("thermal", factor=0.9)
    sim.inject("slow-gemm", factor=0.9)

    assert figures.slowdown(sim.state, "gemm_bf16", 0) == pytest.approx(0.81)
    assert set(faults.active(sim.folder)) == {"thermal", "slow-gemm"}


def test_injecting_again_replaces_the_parameters(sim: SimNode) -> None:
    sim.inject("thermal", factor=0.5)
    sim.inject("thermal", factor=0.97)

    assert faults.active(sim.folder)["thermal"]["factor"] == 0.97
    assert figures.slowdown(sim.state, "gemm_bf16", 0) == pytest.approx(0.97)


def test_clearing_one_fault_leaves_the_others(sim: SimNode) -> None:
    sim.inject("thermal")
    sim.inject("ib-rate")

    assert faults.clear(sim.folder, "thermal") == ["thermal"]
    assert set(faults.active(sim.folder)) == {"ib-rate"}
    assert faults.clear(sim.folder, "thermal") == []


@pytest.mark.parametrize(
    ("fault", "params", "words"),
    [
        ("meteor", {}, "there are apt-fails"),
        ("thermal", {"nic": 1}, "no parameter 'nic'"),
        ("thermal", {"gpu": 8}, "gpu 0 to 7"),
        ("thermal", {"gpu": -1}, "gpu 0 to 7"),
        ("thermal", {"factor": 0}, "above 0"),
        ("thermal", {"factor": 7}, "at most"),
        ("thermal", {"factor": "much"}, "no valid value"),
        ("ib-rate", {"nic": 9}, "nic 0 to 7"),
        ("xid-79", {"gpu": "x"}, "no valid"),
    ],
)
def test_nonsense_is_refused_before_anything_breaks(
    sim: SimNode, fault: str, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(faults.UnknownFault, match=words):
        faults.inject(sim.folder, fault, **params)
    assert faults.active(sim.folder) == {}


@pytest.mark.parametrize(
    ("fault", "path", "value"),
    [
        ("ib-rate", "mlx5_2/ports/1/rate", "200 Gb/sec (4X HDR)"),
        ("ib-init", "mlx5_4/ports/1/state", "2: INIT"),
        ("ib-flap", "mlx5_1/ports/1/counters/link_downed", "7"),
        ("ib-flap", "mlx5_1/ports/1/counters/link_error_recovery", "7"),
    ],
)
def test_port_faults_show_in_sysfs_and_go_with_the_fault(
    sim: SimNode, fault: str, path: str, value: str
) -> None:
    file = sim.root / "sys/class/infiniband" / path
    before = file.read_text()

    sim.inject(fault)
    assert file.read_text() == f"{value}\n" != before
    sim.clear()
    assert file.read_text() == before


def test_clock_without_a_source_says_so_though_its_offset_is_zero(sim: SimNode) -> None:
    sim.inject("clock-drift", synchronised=False)

    assert sim.ask("chronyc", "-c", "tracking").out.split(",")[2:5:2] == ["0", "0.000000000"]
    assert sim.ask("chronyc", "-c", "tracking").out.endswith(",Not synchronised\n")


def test_slow_tool_takes_its_time(sim: SimNode) -> None:
    sim.inject("slow", tool="uname", seconds=0.6)
    started = time.monotonic()
    sim.run("uname -r")
    assert time.monotonic() - started > 0.6


def test_hanging_tool_ignores_being_asked_to_end(sim: SimNode) -> None:
    sim.inject("hang", tool="nvidia-smi")
    assert sim.run("uname -r").rc == 0
    child = subprocess.Popen([str(sim.folder / "bin/nvidia-smi"), "-L"])
    try:
        time.sleep(0.6)
        child.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
    finally:
        child.kill()
        child.wait(5)


@pytest.mark.parametrize(
    ("kind", "whole", "clean"), [("bytes", True, False), ("truncated", False, True), ("both", False, False)]
)
def test_garbage_is_of_the_kind_asked_for(sim: SimNode, kind: str, whole: bool, clean: bool) -> None:
    sim.inject("garbage", kind=kind)
    raw = sim.run("nvidia-smi -q -x").raw

    assert raw.endswith(b"</nvidia_smi_log>\n") is whole
    assert (b"\xff\xfe" not in raw) is clean


def test_fault_until_reboot_is_mended_by_a_reboot(sim: SimNode) -> None:
    sim.inject("xid-79", until_reboot=True)
    sim.inject("thermal")
    sim.ask("reboot")

    assert set(faults.active(sim.folder)) == {"thermal"}
    assert sim.ask("nvidia-smi", "-L").out.count("GPU ") == 8


def test_reboot_loop_never_comes_back_until_it_is_mended(sim: SimNode) -> None:
    sim.inject("reboot-loop")
    assert sim.state["boot"]["down_until"] == 0
    sim.ask("reboot")

    assert sim.state["boot"]["down_until"] > 1e11
    sim.clear()
    assert sim.state["boot"]["down_until"] == 0


def test_missing_mount_cannot_be_mounted_again(sim: SimNode) -> None:
    sim.put("/etc/fstab", "filer:/x /mnt nfs defaults 0 0\nfiler:/y /srv nfs defaults 0 0\n")
    assert [sim.ask("mount", path).rc for path in ("/mnt", "/srv")] == [0, 0]
    sim.inject("mount-missing", path="/mnt")

    assert sim.ask("findmnt", "-J", "/mnt").rc == 1
    assert sim.ask("findmnt", "-J", "/srv").rc == 0
    assert "Connection timed out" in sim.ask("mount", "/mnt").err
    sim.clear()
    assert sim.ask("mount", "/mnt").rc == 0


def test_table_documents_every_fault() -> None:
    for name, fault in faults.TABLE.items():
        assert re.fullmatch(r"[a-z][a-z0-9-]+", name)
        assert len(fault.shows) > 20
        assert ("factor" in fault.params) is bool(fault.weights)


def test_injecting_into_a_folder_that_is_no_node_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no simulated node"):
        faults.inject(tmp_path, "thermal")
