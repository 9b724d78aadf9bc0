"""Where do the lines lie, and which checks must have been measured before a node may be called fit?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

_PASSIVE = (
    "gpu_count", "gpu_model", "driver", "ecc", "row_remap", "xid", "nvlink", "fabric_manager", "ib_ports", "mounts",
    "clock",
)  # fmt: skip
_LIGHT = (*_PASSIVE, "gemm_bf16", "h2d_bw", "d2h_bw", "p2p_bw")
_DELIVERY = (*_LIGHT, "mem_bw", "nccl_busbw", "nccl_correct", "gemm_correct", "dcgm_diag")

PROFILES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"passive": frozenset(_PASSIVE), "light": frozenset(_LIGHT), "delivery": frozenset(_DELIVERY)}
)
"""Checks that a profile requires; one that does not apply to the SKU (no NVLink) is not asked for."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Every threshold of the judge. Shares are of the reference: 0.03 is 3 %."""

    min_repeats: int = 3
    max_spread: float = 0.02
    screen_cut: float = 0.03
    screen_scales: float = 3.0
    provisional_cut: float = 0.05
    gross_cut: float = 0.25
    confirm_breaches: int = 2
    confirm_reruns: int = 3
    shared_nodes: int = 4
    shared_share: float = 0.20
    min_peers: int = 2
    provisional_below: int = 5
    shrink_weight: float = 10.0
    prior_freedom: float = 10.0
    temperature_margin_warn: float = 5.0
    throttle_seconds_warn: float = 10.0
    throttle_seconds_fail: float = 1.0
    remapped_rows_fail: int = 10
    link_downed_fail: int = 6
    clock_offset_warn: float = 0.010
    clock_offset_fail: float = 0.100
    disabled: frozenset[str] = field(default_factory=frozenset)

    @property
    def version(self) -> str:
        """The same thresholds have the same version; any other threshold has another."""
        told = []
        for one in fields(self):
            value = getattr(self, one.name)
            told.append(f"{one.name}={sorted(value) if isinstance(value, frozenset) else value!r}")
        for profile, checks in sorted(PROFILES.items()):
            told.append(f"{profile}={sorted(checks)}")
        return "policy-" + hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


DEFAULT_POLICY = Policy()
