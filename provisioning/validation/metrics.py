"""Which numbers say how fast a node is, and how do they behave?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class MetricRule:
    """One performance metric.

    `prior_scale` is the robust scale of healthy nodes (log ratio) before the fleet has told its own; assumed until then.
    `bounds_work`: a synchronised job runs at the slowest node's value. `quantised`: values repeat exactly, compare exactly.
    """

    metric: str
    title: str
    unit: str
    evidence: str
    per_gpu: bool
    prior_scale: float
    bounds_work: bool
    quantised: bool = False


METRICS: Mapping[str, MetricRule] = MappingProxyType(
    {
        rule.metric: rule
        for rule in (
            MetricRule(
                metric="gemm_bf16", title="bf16 matrix multiplication", unit="TFLOP/s", evidence="gemm",
                per_gpu=True, prior_scale=0.010, bounds_work=True,
            ),
            MetricRule(
                metric="mem_bw", title="GPU memory bandwidth", unit="GB/s", evidence="gpu-stream",
                per_gpu=True, prior_scale=0.005, bounds_work=True,
            ),
            MetricRule(
                metric="h2d_bw", title="copy from host to GPU", unit="GB/s", evidence="nvbandwidth",
                per_gpu=True, prior_scale=0.010, bounds_work=False,
            ),
            MetricRule(
                metric="d2h_bw", title="copy from GPU to host", unit="GB/s", evidence="nvbandwidth",
                per_gpu=True, prior_scale=0.010, bounds_work=False,
            ),
            MetricRule(
                metric="p2p_bw", title="copy between GPUs", unit="GB/s", evidence="nvbandwidth",
                per_gpu=True, prior_scale=0.005, bounds_work=False,
            ),
            MetricRule(
                metric="nccl_busbw", title="all-reduce within the node", unit="GB/s", evidence="nccl-all-reduce",
                per_gpu=False, prior_scale=0.008, bounds_work=True,
            ),
        )
    }
)  # fmt: skip
