"""Does gpu-gemm print what the portal reads, and say plainly when it can't measure?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ansible.conftest import ANSIBLE

SCRIPT = ANSIBLE / "roles/gpu_checks/files/gpu-gemm"

# As much of torch as the script uses: a product takes 2 ms on GPU 0 and 4 ms on GPU 1; GPU 1 is wrong when told so.
FAKE_TORCH = """
import pathlib
bfloat16 = "bf16"
class Tensor:
    def __init__(self, value=1.0): self.value = value
    def __getitem__(self, rows): return self
    def float(self): return self
    def abs(self): return self
    def max(self): return abs(self.value)
    def sum(self): return 0
    def __matmul__(self, other): return Tensor(100.0)
    def __sub__(self, other): return Tensor(self.value - other.value)
    def __invert__(self): return self
    def __int__(self): return 0
class Generator:
    def __init__(self, device): pass
    def manual_seed(self, seed): return self
def device(kind, index): return index
def randn(*size, **more): return Tensor()
def empty(*size, **more): return Tensor()
def isfinite(tensor): return tensor
products = [0]
def mm(left, right, out):
    products[0] += 1
    wrong = current[0] == 1 and pathlib.Path(__file__).with_name("wrong").exists()
    out.value = 90.0 if wrong else 100.1
current = [0]
class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.at = products[0]
    def synchronize(self): pass
    def elapsed_time(self, other): return (other.at - self.at) * (4.0 if current[0] == 1 else 2.0)
class cuda:
    Event = Event
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    set_device = staticmethod(lambda index: current.__setitem__(0, index))
    get_device_capability = staticmethod(lambda index: (9, 0))
    get_device_name = staticmethod(lambda index: "NVIDIA H100 80GB HBM3")
class backends:
    class cuda:
        class matmul: allow_tf32 = True
"""


def gemm(*arguments: str, modules: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", **({"PYTHONPATH": str(modules)} if modules else {})}
    return subprocess.run(
        [sys.executable, "-S", str(SCRIPT), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def torch_folder(tmp_path: Path) -> Path:
    (tmp_path / "torch.py").write_text(FAKE_TORCH)
    return tmp_path


def blocks(text: str) -> list[dict[str, str]]:
    parts = text.split("gpu_index=")[1:]
    return [
        dict(line.split("=", 1) for line in f"gpu_index={part}".splitlines() if "=" in line) for part in parts
    ]


def test_node_without_a_framework_is_not_measured() -> None:
    ran = gemm()

    assert ran.returncode == 3
    assert ran.stdout == ""
    assert ran.stderr == (
        "not measured: torch is not installed; cupy is not installed. Install torch or cupy for the node's python3.\n"
    )


def test_every_gpu_gets_a_block_in_order(torch_folder: Path) -> None:
    ran = gemm("--size", "8192", "--seconds", "2", modules=torch_folder)

    assert ran.returncode == 0, ran.stderr
    first, second = blocks(ran.stdout)
    assert (first["gpu_index"], second["gpu_index"]) == ("0", "1")
    assert float(first["achieved_tflops"]) == pytest.approx(2 * 8192**3 / 2e-3 / 1e12, rel=1e-4)
    assert float(second["achieved_tflops"]) == pytest.approx(2 * 8192**3 / 4e-3 / 1e12, rel=1e-4)
    assert ran.stdout.count("GEMM_SWEEP_PASS") == 2


def test_block_has_the_keys_of_the_real_tool(torch_folder: Path, captures: Path) -> None:
    real = (captures / "gemm/gemm-sweep-bf16.stdout").read_text()
    keys = {line.split("=")[0] for line in real.splitlines() if "=" in line}

    assert keys - set(blocks(gemm("--seconds", "0.1", modules=torch_folder).stdout)[0]) == {"built_cuda_arch"}


def test_gpu_that_computes_wrong_fails(torch_folder: Path) -> None:
    (torch_folder / "wrong").touch()

    ran = gemm("--seconds", "0.1", modules=torch_folder)

    assert ran.returncode == 1
    assert ran.stdout.count("GEMM_SWEEP_PASS") == 1
    assert ran.stdout.strip().endswith("GEMM_SWEEP_FAIL")
    assert "gpu 1:" in ran.stderr
