"""Which ways to be broken are there? This table is their documentation; `manage.py simulate faults` prints it.

Each fault says what a person would see, which parameters it has, which measured figures suffer and what the kernel logs. How a
fault shows in the tools is in observed.py; the connection plugin reads `unreachable` and `hang`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ALL_FIGURES = ("gemm_bf16", "mem_bw", "h2d_bw", "d2h_bw", "p2p_bw", "nccl_busbw", "cluster_busbw")


@dataclass(frozen=True)
class Fault:
    """One way to be broken. `weights` says how much of `1 - factor` each figure loses (1.0 = all of it)."""

    shows: str
    params: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    log: tuple[str, ...] = ()


# A `gpu` of None means every GPU of the node. `until_reboot` may be given to every fault: a reboot then mends it.
TABLE: dict[str, Fault] = {
    "thermal": Fault(
        "hot GPUs: temperature at the limit, thermal slowdown active, lower SM clock, slower GEMM",
        {"gpu": None, "factor": 0.94},
        {"gemm_bf16": 1.0, "nccl_busbw": 0.2},
    ),
    "slow-gemm": Fault(
        "a power limit set too low: software power cap active, lower SM clock, slower GEMM",
        {"gpu": None, "factor": 0.94},
        {"gemm_bf16": 1.0},
    ),
    "slow-hbm": Fault(
        "slow device memory that no health tool reports: low STREAM, slightly low GEMM",
        {"gpu": None, "factor": 0.94},
        {"mem_bw": 1.0, "gemm_bf16": 0.3},
    ),
    "lies": Fault(
        "every health tool says fine, yet what is measured is bad",
        {"gpu": None, "factor": 0.90},
        dict.fromkeys(ALL_FIGURES, 1.0),
    ),
    "nvlink-down": Fault(
        "NVLinks inactive on one GPU: nvlink -s, dcgmi health, Xid 74; all-reduce and peer copy lose their share",
        {"gpu": 3, "links": 1, "factor": 0.944},
        {"p2p_bw": 1.0, "nccl_busbw": 1.0, "cluster_busbw": 0.2},
        (
            "NVRM: Xid (PCI:{pci}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 5"
            "(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        ),
    ),
    "ecc-uncorrectable": Fault(
        "uncorrectable memory errors: ECC counters, Xid 48 and 63, row remapped, reset asked for, DCGM fails",
        {"gpu": 3, "count": 2},
        {},
        (
            "NVRM: Xid (PCI:{pci}): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC error",
            "NVRM: Xid (PCI:{pci}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x00000000012f3a40) marked for "
            "remapping, reset gpu to activate.",
        ),
    ),
    "remap-pending": Fault(
        "a row waits to be remapped: remapped_row_pending Yes, Xid 63, drain and reset recommended",
        {"gpu": 3},
        {},
        (
            "NVRM: Xid (PCI:{pci}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x00000000012f3a40) marked for "
            "remapping, reset gpu to activate.",
        ),
    ),
    "remap-failure": Fault(
        "no spare rows left: remapped_row_failure Yes, Xid 64, DCGM fails; the board must be replaced",
        {"gpu": 3},
        {},
        (
            "NVRM: Xid (PCI:{pci}): 64, pid='<unknown>', name=<unknown>, Row Remapper: Error writing to InfoROM, no spare rows "
            "available for bank.",
        ),
    ),
    "xid-79": Fault(
        "a GPU fell off the bus: Xid 79, a text line before the XML, its element missing, lspci rev ff, CUDA fails",
        {"gpu": 3},
        {},
        (
            "NVRM: GPU at PCI:{pci}: {uuid}",
            "NVRM: GPU Board Serial Number: {serial}",
            "NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "NVRM: GPU {pci}.0: GPU has fallen off the bus.",
            "NVRM: GPU {pci}.0: GPU serial number is {serial}.",
            "NVRM: Xid (PCI:{pci}): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        ),
    ),
    "gpu-lost": Fault(
        "a GPU's element is missing from nvidia-smi while attached_gpus still counts it; the log tells it without an Xid",
        {"gpu": 3},
        {},
        (
            "NVRM: The NVIDIA GPU {pci}.0",
            "NVRM: (PCI ID: 10de:{pci_id}) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ),
    ),
    "gpu-missing": Fault(
        "a GPU is not enumerated at all: one fewer everywhere, and only the SKU knows better", {"gpu": 3}, {}
    ),
    "xid-94": Fault(
        "a contained memory error ended one program: Xid 94, the node itself is fine",
        {"gpu": 3},
        {},
        ("NVRM: Xid (PCI:{pci}): 94, pid=41207, name=python3, Contained: SM (0x1). RST: No, D-RST: No",),
    ),
    "pcie-downgrade": Fault(
        "a PCIe link trained at half its width: lspci (downgraded), nvidia-smi 8x of 16x, host copies halve",
        {"gpu": 2, "width": 8, "factor": 0.5},
        {"h2d_bw": 1.0, "d2h_bw": 1.0},
    ),
    "ib-flap": Fault(
        "an InfiniBand port goes down and up: link_downed counts, the log says so, the cluster is a little slower",
        {"nic": 1, "count": 7, "factor": 0.97},
        {"cluster_busbw": 1.0},
        (
            "mlx5_core 0000:{nic_pci}: Port module event: module 0, Cable unplugged",
            "mlx5_core 0000:{nic_pci}: Port module event: module 0, Cable plugged",
            "infiniband {nic_name}: Port: 1 Link DOWN",
            "infiniband {nic_name}: Port: 1 Link ACTIVE",
        ),
    ),
    "ib-rate": Fault(
        "an InfiniBand port trained at half its rate; every ring goes through it",
        {"nic": 2, "factor": 0.5},
        {"cluster_busbw": 1.0},
    ),
    "ib-init": Fault(
        "an InfiniBand port is LinkUp but Initializing: no subnet manager has brought it up",
        {"nic": 4, "factor": 0.5},
        {"cluster_busbw": 1.0},
    ),
    "clock-drift": Fault(
        "the clock is off by `offset` seconds; with synchronised=false chrony has no source at all",
        {"offset": 0.25, "synchronised": True},
    ),
    "fabric-in-progress": Fault(
        "the NVSwitch fabric never completes: fabric manager failed, CUDA answers 802 system not yet initialized",
        {},
        {},
        ("nvidia-nvswitch0: SXid (PCI:0000:83:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",),
    ),
    "driver-mismatch": Fault(
        "library and kernel module differ: NVML does not start (exit 18), nothing that needs CUDA runs",
        {"library": "570.195.03"},
        {},
        (
            "NVRM: API mismatch: the client has the version {library}, but\nNVRM: this kernel module has the version {driver}. "
            "Please\nNVRM: make sure that this kernel module and all NVIDIA driver\nNVRM: components have the same version.",
        ),
    ),
    "driver-old": Fault(
        "the node runs another driver than its siblings; nothing is broken, figures are `factor` of theirs",
        {"version": "550.90.07", "factor": 0.99},
        {"gemm_bf16": 1.0, "nccl_busbw": 1.0},
    ),
    "mount-missing": Fault(
        "a storage mount is gone and can't be mounted again (path: one mount, empty: all that are not the system's)",
        {"path": ""},
    ),
    "hang": Fault(
        "nothing is ever answered; with `tool` only that tool never returns and ignores SIGTERM", {"tool": ""}
    ),
    "slow": Fault("every tool (or one) takes `seconds` longer", {"tool": "", "seconds": 2.0}),
    "unreachable": Fault("no connection can be made to the node", {"seconds": 0.0}),
    "garbage": Fault(
        "a tool prints bytes that are no UTF-8 and stops in the middle (kind: both, bytes or truncated)",
        {"tool": "nvidia-smi", "kind": "both"},
    ),
    "tool-missing": Fault("a tool is not installed", {"tool": "dcgmi"}),
    "dcgm-skip": Fault("DCGM skips its tests; nothing was tested and nothing failed"),
    "nccl-wrong": Fault("all-reduce is fast and computes wrong results", {"wrong": 3}),
    "apt-fails": Fault("apt-get install fails (kind: lock, hash, unmet or space)", {"kind": "lock"}),
    "reboot-loop": Fault("the node never comes back from its next reboot"),
}
