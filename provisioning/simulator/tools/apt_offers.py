"""Which versions does a simulated mirror offer, and which units do packages bring?

For driver packages the releases below, for known packages the list here, for anything else one version.
"""

from __future__ import annotations

import re

DRIVERS = (
    "580.82.07",
    "580.65.06",
    "575.57.08",
    "570.195.03",
    "570.172.08",
    "570.158.01",
    "570.133.20",
    "570.124.06",
    "570.86.15",
    "565.57.01",
    "560.35.05",
    "550.163.01",
    "550.144.03",
    "550.127.08",
    "550.90.07",
    "550.54.15",
    "535.230.02",
    "535.183.06",
    "535.161.08",
    "535.129.03",
)


FOLLOWS_DRIVER = re.compile(
    r"(nvidia|libnvidia|cuda-drivers|xserver-xorg-video-nvidia)(?!-container|-ctk|.*toolkit)"
)


BRANCH = re.compile(r"-(\d{3})(-|$)")


OFFERED = {
    "nvidia-container-toolkit": ("1.17.8-1", "1.17.4-1", "1.16.2-1"),
    "nvidia-container-toolkit-base": ("1.17.8-1", "1.17.4-1", "1.16.2-1"),
    "libnvidia-container-tools": ("1.17.8-1", "1.17.4-1", "1.16.2-1"),
    "datacenter-gpu-manager-4-core": ("1:4.4.0-1", "1:4.2.3-1"),
    "datacenter-gpu-manager-4-cuda12": ("1:4.4.0-1", "1:4.2.3-1"),
    "slurmd": ("23.11.10-1", "21.08.5-2ubuntu1"),
    "slurm-client": ("23.11.10-1", "21.08.5-2ubuntu1"),
    "munge": ("0.5.14-6",),
    "docker.io": ("26.1.3-0ubuntu1~22.04.1",),
    "containerd": ("1.7.24-0ubuntu1~22.04.2",),
    "containerd.io": ("1.7.27-1", "1.7.22-1"),
    "docker-ce": ("5:27.5.1-1~ubuntu.22.04~jammy",),
    "linux-image-5.15.0-122-generic": ("5.15.0-122.132",),
    "linux-image-5.15.0-130-generic": ("5.15.0-130.140",),
}


UNITS = {
    "chrony": ["chrony"],
    "openssh-server": ["ssh"],
    "slurmd": ["slurmd"],
    "munge": ["munge"],
    "docker.io": ["docker"],
    "docker-ce": ["docker"],
    "containerd": ["containerd"],
    "containerd.io": ["containerd"],
    "datacenter-gpu-manager-4-core": ["nvidia-dcgm"],
    "rdma-core": ["rdma-ndd"],
    "nfs-common": ["rpc-statd"],
    "prometheus-node-exporter": ["prometheus-node-exporter"],
    "cron": ["cron"],
    "rsyslog": ["rsyslog"],
}


def upstream(version: str) -> str:
    """A Debian version without epoch and revision."""
    return version.split(":")[-1].split("-")[0]


def offered(name: str, installed: str | None = None) -> list[str]:
    """The versions a mirror has, best first."""
    if name in OFFERED:
        found = list(OFFERED[name])
    elif FOLLOWS_DRIVER.match(name):
        branch = BRANCH.search(name)
        found = [
            f"{version}-0ubuntu0.22.04.1"
            for version in DRIVERS
            if branch is None or version.startswith(branch[1] + ".")
        ]
    else:
        found = ["1.0.0-1"]
    return (
        found
        if installed is None or installed in found
        else [*found, installed]
        if name in OFFERED
        else [installed]
    )


VALID_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
VALID_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
APT_VALUES = ("-o", "-t", "-c", "--option", "--target-release")
