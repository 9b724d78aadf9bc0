"""How many TFLOP/s did every GPU reach in a bf16 matrix multiplication, and was the product right?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import Reading, ReadingState

ID = "gemm"
_PASS = "GEMM_SWEEP_PASS"  # noqa: S105 - a word of the tool
MAX_RELATIVE_ERROR = 0.05
"""bf16 has 8 bits of mantissa: a product is wrong, not rounded, when it is off by more."""


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Blocks of key=value lines, one per GPU, each beginning with gpu_index=N (a lone block without one is GPU 0)."""
    blocks: list[dict[str, str]] = []
    for line in lines_of(raw):
        key, equals, value = (part.strip() for part in line.partition("="))
        if key == "gpu_index" and equals:
            blocks.append({key: value})
        elif equals and (blocks or key == "built_cuda_arch"):
            if not blocks:
                blocks.append({"gpu_index": "0"})
            blocks[-1][key] = value
        elif line.strip() == _PASS and blocks:
            blocks[-1]["passed"] = "yes"
    if not blocks:
        said = next((line.strip()[:200] for line in lines_of(raw) if line.strip()), "nothing")
        return parsed((), [f"the matrix multiplication measured nothing; it said: {said}"])
    problems: list[str] = []
    return parsed([reading for block in blocks for reading in _gpu(block, problems, run)], problems)


def _gpu(block: dict[str, str], problems: list[str], run: int) -> Iterator[Reading]:
    index = block["gpu_index"]
    if not (index.isdecimal() and index.isascii() and len(index) < 4):
        problems.append(f"a block of the matrix multiplication for GPU {index[:40]!r}")
        return
    device = f"gpu:{int(index)}"
    precision = block.get("gemm_precision", "")
    if precision != "bf16":
        problems.append(f"{device} multiplied in {precision[:40] or 'unknown'} precision, not in bf16")
        return
    speed = finite(block.get("achieved_tflops", ""))
    finished = block.get("passed") == "yes"
    if speed is None or speed <= 0 or not finished:
        said = "did not finish" if not finished else "no speed"
        state = ReadingState.FAILED
        yield without_value("gemm_bf16", device, state, unit="TFLOP/s", source=ID, run=run, said=said)
    else:
        yield measured("gemm_bf16", device, speed, unit="TFLOP/s", source=ID, run=run)
    yield _correctness(block, device, run)


def _correctness(block: dict[str, str], device: str, run: int) -> Reading:
    """1 where the product was wrong, 0 where it was checked and right."""
    nonfinite, error = finite(block.get("nonfinite_count", "")), finite(block.get("max_relative_error", ""))
    if nonfinite is None or error is None:
        told = block.get("nonfinite_count", "") or block.get("max_relative_error", "")
        state = ReadingState.FAILED if told else ReadingState.MISSING
        return without_value("gemm_wrong", device, state, source=ID, run=run)
    wrong = nonfinite > 0 or abs(error) > MAX_RELATIVE_ERROR
    detail = (("max_relative_error", f"{error:g}"), ("nonfinite", f"{nonfinite:g}"))
    return measured("gemm_wrong", device, 1.0 if wrong else 0.0, source=ID, run=run, detail=detail)
