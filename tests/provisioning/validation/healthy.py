"""A healthy 8 x H100 node as its tools would print it, in pieces that a test can break one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from provisioning.fleet.sku_data import Sku, known_skus
from provisioning.validation.evidence import pack

H100: Sku = known_skus()["h100-sxm5-80g"]
GPUS = 8
NOISE = (1.0, 0.998, 1.003)
"""Three repeats of every measurement."""

_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")


def gpu_xml(index: int, **changed: str) -> str:
    """One gpu element in the layout of driver 570 (schema v12). `changed` replaces the text of an element."""
    fields = {
        "product_name": H100.gpu_model,
        "persistence_mode": "Enabled",
        "current_mig": "Disabled",
        "uuid": f"GPU-0000000{index}-0000-0000-0000-000000000000",
        "vbios_version": H100.vbios,
        "gpu_recovery_action": "None",
        "current_link_gen": "5",
        "current_link_width": "16x",
        "performance_state": "P0",
        "hw_slowdown": "Not Active",
        "hw_thermal_slowdown": "Not Active",
        "sw_thermal_slowdown": "Not Active",
        "sw_power_cap": "Not Active",
        "hw_therm_time": "0 us",
        "total": "81559 MiB",
        "current_ecc": "Enabled",
        "sram_parity": "0",
        "sram_secded": "0",
        "dram_uncorrectable": "0",
        "dram_uncorrectable_total": "0",
        "remapped_row_unc": "0",
        "remapped_row_pending": "No",
        "remapped_row_failure": "No",
        "gpu_temp": "34 C",
        "gpu_temp_tlimit": "52 C",
        "power_draw": "118.20 W",
        "fabric_state": "Completed",
        "fabric_status": "Success",
    }
    unknown = set(changed) - set(fields)
    assert not unknown, unknown
    f = fields | changed
    return f"""<gpu id="00000000:{_BUSES[index].upper()}:00.0">
<product_name>{f["product_name"]}</product_name><persistence_mode>{f["persistence_mode"]}</persistence_mode>
<mig_mode><current_mig>{f["current_mig"]}</current_mig></mig_mode>
<uuid>{f["uuid"]}</uuid><vbios_version>{f["vbios_version"]}</vbios_version>
<gpu_recovery_action>{f["gpu_recovery_action"]}</gpu_recovery_action>
<pci><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>{f["current_link_gen"]}</current_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>{f["current_link_width"]}</current_link_width></link_widths></pci_gpu_link_info></pci>
<performance_state>{f["performance_state"]}</performance_state>
<clocks_event_reasons>
<clocks_event_reason_hw_slowdown>{f["hw_slowdown"]}</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>{f["hw_thermal_slowdown"]}</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_sw_thermal_slowdown>{f["sw_thermal_slowdown"]}</clocks_event_reason_sw_thermal_slowdown>
<clocks_event_reason_sw_power_cap>{f["sw_power_cap"]}</clocks_event_reason_sw_power_cap>
</clocks_event_reasons>
<clocks_event_reasons_counters><clocks_event_reasons_counters_hw_therm_slowdown>{f["hw_therm_time"]}</clocks_event_reasons_counters_hw_therm_slowdown></clocks_event_reasons_counters>
<fb_memory_usage><total>{f["total"]}</total></fb_memory_usage>
<ecc_mode><current_ecc>{f["current_ecc"]}</current_ecc></ecc_mode>
<ecc_errors><volatile><sram_uncorrectable_parity>{f["sram_parity"]}</sram_uncorrectable_parity>
<sram_uncorrectable_secded>{f["sram_secded"]}</sram_uncorrectable_secded><dram_uncorrectable>{f["dram_uncorrectable"]}</dram_uncorrectable></volatile>
<aggregate><sram_uncorrectable_parity>0</sram_uncorrectable_parity><sram_uncorrectable_secded>0</sram_uncorrectable_secded>
<dram_uncorrectable>{f["dram_uncorrectable_total"]}</dram_uncorrectable><sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate></ecc_errors>
<retired_pages><pending_retirement>N/A</pending_retirement></retired_pages>
<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>{f["remapped_row_unc"]}</remapped_row_unc>
<remapped_row_pending>{f["remapped_row_pending"]}</remapped_row_pending><remapped_row_failure>{f["remapped_row_failure"]}</remapped_row_failure></remapped_rows>
<temperature><gpu_temp>{f["gpu_temp"]}</gpu_temp><gpu_temp_tlimit>{f["gpu_temp_tlimit"]}</gpu_temp_tlimit>
<gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold></temperature>
<gpu_power_readings><average_power_draw>{f["power_draw"]}</average_power_draw><instant_power_draw>{f["power_draw"]}</instant_power_draw></gpu_power_readings>
<fabric><state>{f["fabric_state"]}</state><status>{f["fabric_status"]}</status></fabric>
</gpu>"""


def smi_xml(gpus: Mapping[int, Mapping[str, str]] | None = None, *, drop: tuple[int, ...] = (), attached: int = GPUS,
            driver: str = "") -> bytes:  # fmt: skip
    """nvidia-smi -q -x of the node. `gpus`: what to change per GPU; `drop`: elements to leave out."""
    inner = "\n".join(gpu_xml(i, **dict((gpus or {}).get(i, {}))) for i in range(GPUS) if i not in drop)
    return f"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><timestamp>Mon Nov 30 10:00:00 2026</timestamp><driver_version>{driver or H100.driver}</driver_version>
<cuda_version>12.8</cuda_version><attached_gpus>{attached}</attached_gpus>
{inner}
</nvidia_smi_log>
""".encode()


def nvlink_text(*, down: Mapping[int, int] | None = None) -> bytes:
    """nvidia-smi nvlink -s; `down`: how many links of a GPU are inactive."""
    lines = []
    for gpu in range(GPUS):
        lines.append(f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{gpu}-0000-0000-0000-000000000000)")
        dead = (down or {}).get(gpu, 0)
        lines += [f"\t Link {link}: {'<inactive>' if link < dead else '26.562 GB/s'}" for link in range(18)]
    return "\n".join(lines).encode()


def lspci_text(*, gpus: int = GPUS) -> bytes:
    """lspci -vvv, the lines we read."""
    lines = []
    for index in range(gpus):
        lines += [f"{_BUSES[index]}:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)",
                  "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1",
                  "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)", ""]  # fmt: skip
    return "\n".join(lines).encode()


def kernel_log(*extra: str) -> bytes:
    """journalctl -k -b -o short-iso; `extra` lines come after the boot."""
    head = "2026-11-30T08:00:00+0000 gpu-001 kernel: "
    return "\n".join([f"{head}Linux version 6.8.0-60-generic (builder)", f"{head}NVRM: loading NVIDIA UNIX",
                      *(f"2026-11-30T09:00:00+0000 gpu-001 kernel: {line}" for line in extra)]).encode()  # fmt: skip


def ib_sysfs(changed: Mapping[int, Mapping[str, str]] | None = None) -> bytes:
    """Folded /sys/class/infiniband of eight ports."""
    lines = []
    for nic in range(8):
        told = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)",
                "link_layer": "InfiniBand", "counters/link_downed": "0"}  # fmt: skip
        told |= (changed or {}).get(nic, {})
        lines += [f"mlx5_{nic}/ports/1/{path}: {value}" for path, value in told.items()]
    return "\n".join(lines).encode()


def gemm_text(speeds: Mapping[int, float] | None = None, *, factor: float = 1.0, nonfinite: int = 0) -> bytes:
    blocks = []
    for gpu in range(GPUS):
        tflops = (speeds or {}).get(gpu, 769.0) * factor
        blocks.append(f"gpu_index={gpu}\nbuilt_cuda_arch=sm_90\ngemm_precision=bf16\ngpu_name=NVIDIA H100 80GB HBM3\n"
                      f"max_relative_error=0.001\nnonfinite_count={nonfinite}\nachieved_tflops={tflops:.3f}\nGEMM_SWEEP_PASS")  # fmt: skip
    return "\n".join(blocks).encode()


def nvbandwidth_text(*, h2d: Mapping[int, float] | None = None, factor: float = 1.0) -> bytes:
    head = "           " + "         ".join(str(gpu) for gpu in range(GPUS))
    rows = ["nvbandwidth Version: v0.8", ""]
    for test, arrow, usual in (
        ("host_to_device_memcpy_ce", "->", h2d or {}),
        ("device_to_host_memcpy_ce", "<-", {}),
    ):
        cells = "".join(f"{usual.get(gpu, 55.2) * factor:10.2f}" for gpu in range(GPUS))
        rows += [f"Running {test}.", f"memcpy CE CPU(row) {arrow} GPU(column) bandwidth (GB/s)", head, f" 0{cells}", "",
                 f"SUM {test} 441.60", ""]  # fmt: skip
    rows += ["Running device_to_device_bidirectional_memcpy_read_ce."]
    for label, base in (("Read1", 378.0), ("Read2", 378.0), ("Total", 756.0)):
        rows += [f"memcpy CE GPU(row) <-> GPU(column) {label} bandwidth (GB/s)", head]
        for row in range(GPUS):
            cells = "".join("       N/A" if row == col else f"{base * factor:10.2f}" for col in range(GPUS))
            rows.append(f" {row}{cells}")
        rows += ["", f"SUM device_to_device_bidirectional_memcpy_read_ce_{label.lower()} 1.00", ""]
    return "\n".join(rows).encode()


def stream_text(speeds: Mapping[int, float] | None = None, *, factor: float = 1.0) -> bytes:
    return "\n".join(
        f"STREAM_TRIAD_double_gpu_{gpu}_buffer_4294967296_block_{block}    {(speeds or {}).get(gpu, 3015.0) * factor * part:.2f} 90.0"
        for gpu in range(GPUS)
        for block, part in ((128, 1.0), (1024, 0.91))
    ).encode()


def nccl_text(
    busbw: float = 450.0, *, factor: float = 1.0, wrong: str = "0", ranks: int = GPUS, nodes: int = 1
) -> bytes:
    lines = ["# nThread 1 nGpus 8 minBytes 1073741824 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0", "#"]  # fmt: skip
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid  50781 on host{rank // ranks} device {rank % ranks:2d} [0x1b] NVIDIA H100 80GB HBM3"
        for rank in range(ranks * nodes)
    ]
    lines += [
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    ]
    for power in range(30, 34):
        row = f"{2**power:12d} {2**power // 4:13d}     float     sum      -1   4200.0  250.00  {busbw * factor:.2f}"
        lines.append(f"{row}      {wrong}   4201.0  250.00  {busbw * factor:.2f}      {wrong}")
    return "\n".join(
        [*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 449.1", "#"]
    ).encode()


CHRONY = b"0A000001,10.0.0.1,3,1764496800.123456789,0.000012345,0.000002,0.000010,1.2,0.001,0.02,0.0002,0.0005,64.0,Normal\n"
DCGM = json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": [{
    "name": "software",
    "results": [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": "Pass"} for gpu in range(GPUS)],
    "test_summary": {"status": "Pass"}}]}]}, "metadata": {"version": "4.2.3"}}).encode()  # fmt: skip
MOUNTS = json.dumps({"filesystems": [{"target": "/", "source": "/dev/md0", "fstype": "ext4", "options": "rw,relatime",
    "children": [{"target": "/data", "source": "storage:/team", "fstype": "nfs4", "options": "rw,hard"}]}]}).encode()  # fmt: skip

ONCE: dict[str, bytes] = {
    "nvidia-smi-xml": smi_xml(),
    "nvidia-smi-nvlink": nvlink_text(),
    "lspci": lspci_text(),
    "kernel-log": kernel_log(),
    "ib-sysfs": ib_sysfs(),
    "chronyc-tracking": CHRONY,
    "mounts": MOUNTS,
    "kernel": b"6.8.0-60-generic\n",
    "fabric-manager": b"ActiveState=active\nSubState=running\nExecMainStatus=0\n",
    "dcgmi-diag": DCGM,
}
REPEATED: dict[str, Callable[..., bytes]] = {
    "gemm": gemm_text,
    "nvbandwidth": nvbandwidth_text,
    "gpu-stream": stream_text,
    "nccl-all-reduce": nccl_text,
}


def evidence(name: str, raw: bytes, *, run: int = 1, outcome: str = "ran", rc: int = 0) -> dict[str, Any]:
    return {"id": name, "command": [name], "outcome": outcome, "rc": rc, "seconds": 0.4, "stdout": pack(raw),
            "stdout_bytes": len(raw), "truncated": False, "stderr": "", "run": run}  # fmt: skip


def probe(
    node: str = "gpu-001",
    *,
    once: Mapping[str, bytes | None] | None = None,
    repeated: Mapping[str, list[bytes] | None] | None = None,
    outcomes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The probe of a healthy node, with pieces replaced (or left out, where None)."""
    rows: list[dict[str, Any]] = []
    for name, raw in (ONCE | dict(once or {})).items():
        if raw is not None:
            rows.append(evidence(name, raw, outcome=(outcomes or {}).get(name, "ran")))
    for name, make in REPEATED.items():
        runs = (repeated or {}).get(name, [make(factor=factor) for factor in NOISE])
        for number, raw in enumerate(runs or [], start=1):
            rows.append(evidence(name, raw, run=number, outcome=(outcomes or {}).get(name, "ran")))
    return {
        "schema": 1,
        "node": node,
        "boot_id": "boot-1",
        "taken_at": "2026-11-30T10:00:00Z",
        "simulated": True,
        "evidence": rows,
    }


def repeats(make: Callable[..., bytes], *args: Any, **kwargs: Any) -> list[bytes]:
    """Three repeats of one measurement with the usual noise."""
    return [make(*args, factor=factor, **kwargs) for factor in NOISE]
