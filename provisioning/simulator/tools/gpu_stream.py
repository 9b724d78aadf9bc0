"""What does gpu_stream print: device memory bandwidth of four kernels at four block sizes, per GPU?"""

from __future__ import annotations

from provisioning.simulator import figures, observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How the kernels and block sizes stand to the best of them (TRIAD at 256 threads), as measured on real boards.
SHARES = {
    "COPY": {128: 0.9053, 256: 0.8834, 512: 0.8356, 1024: 0.7717},
    "SCALE": {128: 0.9011, 256: 0.8788, 512: 0.8237, 1024: 0.7589},
    "ADD": {128: 0.9953, 256: 0.9991, 512: 0.9859, 1024: 0.9157},
    "TRIAD": {128: 0.9952, 256: 1.0, 512: 0.9840, 1024: 0.9078},
}
BUFFER = 4294967296


def run(call: Call) -> int:
    """gpu_stream: all GPUs, all kernels."""
    trouble = observed.cuda_error(call.state)
    boards = observed.gpus(call.state)
    if trouble is None and any(board["presence"] != "ok" for board in boards):
        trouble = (999, "unknown error")
    if trouble is not None:
        return call.fail(1, f"gpu_stream: CUDA error {trouble[0]}: {trouble[1]}")
    call.out(
        f"STREAM Benchmark\nBuffer size(bytes): {BUFFER}\nNumber of warm up runs: 10\nNumber of loops: 40\nCheck data: No\n"
    )
    number = call.run_number("mem_bw")
    for board in boards:
        best = figures.measured(call.state, "mem_bw", number, board["slot"])
        if best is None:
            return call.fail(1, "gpu_stream: no figure for this SKU")
        call.out(_device(call.state, board, best))
    return 0


def _device(state: dict[str, Any], board: dict[str, Any], best: float) -> str:
    hw, index = state["hw"], board["index"]
    peak = 2.0 * hw["mem_clock"] * hw["mem_bus_bits"] / 8 / 1000
    text = (
        f'\nDevice {index}: "{state["sku"]["gpu_model"]}"  {hw["sms"]} SMs({hw["compute_cap"]})  '
        f"Memory: {hw['mem_clock']:.2f}MHz x {hw['mem_bus_bits']}-bit = {peak:.2f} GB/s PEAK   ECC is ON\n"
    )
    for kernel, shares in SHARES.items():
        for block, share in shares.items():
            name = f"STREAM_{kernel}_double_gpu_{index}_buffer_{BUFFER}_block_{block}"
            text += f"{name:<55} {best * share:.2f} {best * share / peak * 100:.2f}\n"
    return text
