"""What does a node that has just left the factory look like: boards, software, services, mounts?

Everything follows from the seed, the node's name and the SKU; only the two time stamps come from the caller.
"""

from __future__ import annotations

from typing import Any

from provisioning.simulator import hardware, noise

KERNEL = "5.15.0-122-generic"
NODES_PER_RACK = 4

BASE_PACKAGES = {
    "openssh-server": "1:8.9p1-3ubuntu0.10",
    "chrony": "4.2-2ubuntu2",
    "linux-image-generic": "5.15.0.122.122",
    "rdma-core": "2410mlnx54-1.2410068",
    "nfs-common": "1:2.6.1-1ubuntu1.2",
    "python3": "3.10.6-1~22.04.1",
}
BASE_SERVICES = ("ssh", "chrony", "systemd-journald", "cron", "nvidia-persistenced")
BASE_MODULES = [
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "mlx5_core",
    "mlx5_ib",
    "ib_core",
    "ib_uverbs",
    "ext4",
    "overlay",
]
BASE_MOUNTS = [
    {"target": "/", "source": "/dev/md0", "fstype": "ext4", "options": "rw,relatime"},
    {
        "target": "/boot/efi",
        "source": "/dev/nvme0n1p1",
        "fstype": "vfat",
        "options": "rw,relatime,fmask=0077,dmask=0077",
    },
    {"target": "/proc", "source": "proc", "fstype": "proc", "options": "rw,nosuid,nodev,noexec,relatime"},
    {"target": "/sys", "source": "sysfs", "fstype": "sysfs", "options": "rw,nosuid,nodev,noexec,relatime"},
    {
        "target": "/run",
        "source": "tmpfs",
        "fstype": "tmpfs",
        "options": "rw,nosuid,nodev,size=211255276k,mode=755,inode64",
    },
    {"target": "/dev/shm", "source": "tmpfs", "fstype": "tmpfs", "options": "rw,nosuid,nodev,inode64"},  # noqa: S108 - the node's
]
SYSCTL = {
    "kernel.hostname": "",
    "kernel.numa_balancing": "0",
    "kernel.pid_max": "4194304",
    "vm.swappiness": "60",
    "vm.overcommit_memory": "0",
    "vm.max_map_count": "65530",
    "vm.nr_hugepages": "0",
    "fs.file-max": "9223372036854775807",
    "fs.inotify.max_user_watches": "1048576",
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
    "net.core.somaxconn": "4096",
    "net.ipv4.ip_forward": "0",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
}


def factory_state(
    *, sku: dict[str, Any], seed: int, name: str, index: int, created_at: float
) -> dict[str, Any]:
    """The first state of one node; `index` counts from 1 and decides rack and address, `created_at` is a Unix time."""
    hw = hardware.looks(str(sku["gpu_model"]))
    driver = str(sku["driver"])
    state: dict[str, Any] = {
        "schema": 1,
        "name": name,
        "index": index,
        "seed": seed,
        "rack": f"r{(index - 1) // NODES_PER_RACK + 1:02d}",
        "address": f"10.77.{index // 250}.{index % 250 + 1}",
        "created_at": created_at,
        "sku": sku,
        "hw": hw,
        "boot": {
            "id": noise.uuid(seed, name, "boot", 1),
            "at": created_at - 7200,
            "count": 1,
            "down_until": 0.0,
        },
        "gpus": _gpus(sku, seed, name),
        "nics": _nics(sku, seed, name, index),
        "kernel": {"running": KERNEL, "installed": KERNEL},
        "driver": {"loaded": driver, "installed": driver},
        "packages": _packages(sku, driver),
        "services": {unit: service() for unit in _units(sku)},
        "base_mounts": [mount["target"] for mount in BASE_MOUNTS],
        "mounts": [dict(mount) for mount in BASE_MOUNTS],
        "modules": list(BASE_MODULES),
        "sysctl": {**SYSCTL, "kernel.hostname": name},
        "slurm": None,
        "runs": {},
        "faults": {},
    }
    return state


def service(active: str = "active", *, enabled: bool = True) -> dict[str, Any]:
    """One systemd unit's remembered state."""
    sub = {"active": "running", "failed": "failed", "activating": "start"}.get(active, "dead")
    return {"active": active, "sub": sub, "enabled": enabled, "status": 1 if active == "failed" else 0}


def _units(sku: dict[str, Any]) -> list[str]:
    return [*BASE_SERVICES, *(["nvidia-fabricmanager"] if sku.get("nvswitch") else [])]


def _packages(sku: dict[str, Any], driver: str) -> dict[str, dict[str, Any]]:
    branch = driver.split(".")[0]
    names = {
        **BASE_PACKAGES,
        f"nvidia-driver-{branch}-server": f"{driver}-0ubuntu0.22.04.1",
        "datacenter-gpu-manager-4-core": "1:4.2.3-1",
    }
    if sku.get("nvswitch"):
        names[f"nvidia-fabricmanager-{branch}"] = f"{driver}-0ubuntu0.22.04.1"
    return {name: {"version": version, "hold": False} for name, version in sorted(names.items())}


def _bus(buses: list[str], index: int) -> str:
    return buses[index] if index < len(buses) else f"{0xE0 + index:02x}"


def _gpus(sku: dict[str, Any], seed: int, name: str) -> list[dict[str, Any]]:
    return [
        {
            "slot": index,
            "bus": _bus(hardware.GPU_BUSES, index),
            "uuid": "GPU-" + noise.uuid(seed, name, "gpu", index),
            "serial": str(1_650_000_000_000 + noise.bits(seed, name, "serial", index) % 9_999_999_999),
            "warmer": round(noise.gauss(seed, name, "temperature", index, sd=1.6)),
        }
        for index in range(int(sku["gpu_count"]))
    ]


def _nics(sku: dict[str, Any], seed: int, name: str, index: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"mlx5_{port}",
            "bus": _bus(hardware.NIC_BUSES, port),
            "guid": "5c2573030" + noise.token(7, seed, name, "guid", port),
            "serial": f"MT2340J{noise.bits(seed, name, 'nic', port) % 100000:05d}",
            "lid": 64 + index * 16 + port,
        }
        for port in range(int(sku["nics"]["count"]))
    ]
