"""What does a GPU model look like to the tools, apart from how fast it is?

Speeds and hard facts of a SKU live in provisioning/fleet/skus; here is only what a fleet never judges by: PCI ids, clocks,
temperature scale, part numbers. Values are those the vendor's own tools print for the model.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOPPER: dict[str, Any] = {
    "architecture": "Hopper",
    "compute_cap": "9.0",
    "pci_id": "2330",
    "pci_subsystem": "16c1",
    "sms": 132,
    "sm_clock": 1980,
    "idle_sm_clock": 345,
    "mem_clock": 2619,
    "mem_bus_bits": 5120,
    "power_limit": 700,
    "idle_power": 74,
    "idle_temp": 31,
    "temp_style": "headroom",
    "slowdown_temp": 87,
    "remap_banks": 2560,
    "bar1_mib": 131072,
    "board_part": "692-2G520-0200-000",
    "vbios": "96.00.89.00.01",
    "inforom": "G520.0200.00.05",
    "ecc_object": "7.16",
    "nvswitch_id": "22a3",
    "nvswitch_count": 4,
    "has_fabric": True,
    "hca": {
        "pci_id": "1021",
        "family": "MT2910 Family [ConnectX-7]",
        "type": "MT4129",
        "board": "MT_0000000838",
        "fw": "28.41.1000",
    },
}

# The first entry whose key begins the model's name counts; each states only how it differs from Hopper.
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("NVIDIA H100 80GB HBM3", {}),
    (
        "NVIDIA H200",
        {
            "pci_id": "2335",
            "pci_subsystem": "18be",
            "mem_clock": 3201,
            "mem_bus_bits": 6144,
            "bar1_mib": 262144,
            "board_part": "692-2G520-0280-000",
            "inforom": "G520.0280.00.04",
            "vbios": "96.00.BC.00.02",
        },
    ),
    (
        "NVIDIA H100 PCIe",
        {
            "pci_id": "2331",
            "sms": 114,
            "sm_clock": 1755,
            "mem_clock": 1593,
            "power_limit": 350,
            "nvswitch_count": 0,
            "has_fabric": False,
        },
    ),
    (
        "NVIDIA A100-SXM4-80GB",
        {
            "architecture": "Ampere",
            "compute_cap": "8.0",
            "pci_id": "20b2",
            "pci_subsystem": "1463",
            "sms": 108,
            "sm_clock": 1410,
            "idle_sm_clock": 210,
            "mem_clock": 1593,
            "power_limit": 400,
            "idle_power": 62,
            "temp_style": "absolute",
            "slowdown_temp": 89,
            "remap_banks": 640,
            "board_part": "692-2G506-0212-002",
            "inforom": "G506.0212.00.01",
            "vbios": "92.00.45.00.05",
            "ecc_object": "6.16",
            "nvswitch_id": "1af1",
            "nvswitch_count": 6,
            "has_fabric": False,
            "hca": {
                "pci_id": "101b",
                "family": "MT28908 Family [ConnectX-6]",
                "type": "MT4123",
                "board": "MT_0000000223",
                "fw": "20.38.1002",
            },
        },
    ),
    (
        "NVIDIA B200",
        {
            "architecture": "Blackwell",
            "compute_cap": "10.0",
            "pci_id": "2901",
            "pci_subsystem": "1999",
            "sms": 148,
            "sm_clock": 1965,
            "idle_sm_clock": 120,
            "mem_clock": 3996,
            "mem_bus_bits": 8192,
            "power_limit": 1000,
            "idle_power": 142,
            "remap_banks": 4096,
            "bar1_mib": 262144,
            "board_part": "692-2G525-0220-002",
            "inforom": "G525.0220.00.03",
            "vbios": "97.00.82.00.15",
            "ecc_object": "7.16",
            "nvswitch_count": 0,
        },
    ),
]
MODELS.append(
    (
        "NVIDIA A100-SXM4-40GB",
        {**MODELS[3][1], "pci_id": "20b0", "pci_subsystem": "134f", "mem_clock": 1215, "bar1_mib": 65536},
    )
)
MODELS.append(("NVIDIA GB200", {**MODELS[4][1], "pci_id": "2941", "power_limit": 1200}))
MODELS.append(("NVIDIA GB300", {**MODELS[4][1], "pci_id": "31c2", "power_limit": 1400}))

# How the boards of an eight-GPU server sit on the bus, as in a real one; smaller servers use the first ones.
GPU_BUSES = ["19", "3b", "4c", "5d", "9b", "bb", "cb", "db"]
NIC_BUSES = ["1a", "3c", "4d", "5e", "9c", "bc", "cc", "dc"]
SWITCH_BUSES = ["83", "84", "85", "86", "87", "88"]


def looks(gpu_model: str) -> dict[str, Any]:
    """The model's appearance; an unknown model is shown as a Hopper part under its own name."""
    for name, differs in MODELS:
        if gpu_model.startswith(name):
            return {**HOPPER, **differs}
    return dict(HOPPER)
