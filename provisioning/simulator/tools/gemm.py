"""What does gpu-gemm print: one key=value block per GPU, as a GEMM sweep does?"""

from __future__ import annotations

from provisioning.simulator import figures, observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHAPE = 8192
SECONDS = 5.0


def run(call: Call) -> int:
    """gpu-gemm: every GPU in turn; a GPU that can't compute says so in its own block."""
    trouble = observed.cuda_error(call.state)
    if trouble is not None:
        return call.fail(1, f"gpu-gemm: CUDA error {trouble[0]}: {trouble[1]}")
    number = call.run_number("gemm_bf16")
    bad = 0
    for board in observed.gpus(call.state):
        value = figures.measured(call.state, "gemm_bf16", number, board["slot"])
        if board["presence"] != "ok" or value is None:
            call.out(
                f"gpu_index={board['index']}\ngemm_precision=bf16\nerror=CUDA error 46: all CUDA-capable devices are busy or "
                "unavailable\nGEMM_SWEEP_FAIL\n"
            )
            bad += 1
        else:
            call.out(_block(call.state, board, value))
    return 1 if bad else 0


def _block(state: dict[str, Any], board: dict[str, Any], tflops: float) -> str:
    work = 2.0 * SHAPE**3
    iterations = int(SECONDS * tflops * 1e12 / work)
    milliseconds = work * iterations / (tflops * 1e12) * 1e3
    capability = str(state["hw"]["compute_cap"])
    return (
        f"gpu_index={board['index']}\nbuilt_cuda_arch=sm_{capability.replace('.', '')}\ngemm_precision=bf16\n"
        f"window_seconds={SECONDS:g}\ngpu_name={state['sku']['gpu_model']}\ncompute_cap={capability}\n"
        f"gemm_shape={SHAPE}x{SHAPE}x{SHAPE}\ngemm_iterations={iterations}\ntotal_kernel_ms={milliseconds:.3f}\nmax_abs_ref=724\n"
        f"max_abs_error=0\nmax_relative_error=0\nnonfinite_count=0\nachieved_tflops={tflops:.3f}\nGEMM_SWEEP_PASS\n"
    )
