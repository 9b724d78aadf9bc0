"""Does node_gpu_driver see a driver that is not the wanted one, and exchange it when nobody holds it?"""

from __future__ import annotations

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode


@pytest.fixture
def gpu_node(tool_node: ToolNode) -> ToolNode:
    """Two GPUs; the installed driver is 550.90.07, the loaded one what /proc says."""
    tool_node.put("/proc/driver/nvidia/version", loaded("550.54.15"))
    (tool_node.folder / "next").write_text(loaded("550.90.07"))
    tool_node.tool(
        "nvidia-smi",
        """
v=$(sed -n 's/.*Kernel Module  \\([0-9.]*\\).*/\\1/p' "$D/root/proc/driver/nvidia/version")
printf '0, %s\\n1, %s\\n' "$v" "$v" """,
    )
    tool_node.tool(
        "systemctl",
        'if [ "$1" = is-active ]; then [ "$2" = nvidia-persistenced ] && echo active || echo inactive; fi',
    )
    tool_node.tool("lsmod", 'printf "Module Size Used\\nnvidia_uvm 1 0\\nnvidia 1 1\\n"')
    tool_node.tool(
        "modprobe",
        """
[ -f "$D/in_use" ] && [ "$1" = -r ] && { echo "modprobe: FATAL: Module $2 is in use." >&2; exit 1; }
[ "$1" = nvidia ] && cp "$D/next" "$D/root/proc/driver/nvidia/version"; exit 0""",
    )
    return tool_node


def loaded(version: str) -> str:
    return f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Aug 12 00:00:00 UTC 2025\n"


def test_old_module_is_exchanged_under_stopped_services(gpu_node: ToolNode) -> None:
    result = gpu_node.run(
        "node_gpu_driver", version="550.90.07", gpu_count=2, holders=["nvidia-dcgm", "nvidia-persistenced"]
    )

    assert result["version"] == "550.90.07"
    steps = [line for line in gpu_node.log if line.startswith(("systemctl st", "modprobe"))]
    assert steps == [
        "systemctl stop nvidia-persistenced",
        "modprobe -r nvidia_uvm",
        "modprobe -r nvidia",
        "modprobe nvidia",
        "modprobe nvidia_uvm",
        "systemctl start nvidia-persistenced",
    ]
    assert gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2)["changed"] is False


def test_module_in_use_asks_for_a_reboot(gpu_node: ToolNode) -> None:
    (gpu_node.folder / "in_use").touch()

    with pytest.raises(ModuleFailed, match=r"Module nvidia_uvm is in use.*Drain the node and reboot it"):
        gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2)


def test_reload_that_is_forbidden_tells_both_versions(gpu_node: ToolNode) -> None:
    with pytest.raises(
        ModuleFailed, match=r"driver mismatch: 550\.90\.07 is installed and 550\.54\.15 is loaded"
    ):
        gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2, reload=False)


def test_library_that_doesn_t_fit_is_quoted(gpu_node: ToolNode) -> None:
    gpu_node.put("/proc/driver/nvidia/version", loaded("550.90.07"))
    gpu_node.tool("nvidia-smi", 'echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18')

    with pytest.raises(ModuleFailed, match=r"rc 18.*Driver/library version mismatch.*reboot the node"):
        gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2)


def test_node_without_gpus_is_told(gpu_node: ToolNode) -> None:
    gpu_node.put("/proc/driver/nvidia/version", loaded("550.90.07"))
    gpu_node.tool("nvidia-smi", "exit 0")

    with pytest.raises(ModuleFailed, match="lists no GPU, 2 are expected"):
        gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2)


def test_lost_gpu_is_left_to_the_validation(gpu_node: ToolNode) -> None:
    gpu_node.put("/proc/driver/nvidia/version", loaded("550.90.07"))
    gpu_node.tool(
        "nvidia-smi",
        'echo "Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error"; echo "1, 550.90.07"; exit 15',
    )

    assert gpu_node.run("node_gpu_driver", version="550.90.07", gpu_count=2)["gpus"] == 1


def test_check_mode_on_a_bare_node_tells_what_it_would_load(gpu_node: ToolNode) -> None:
    (gpu_node.root / "proc/driver/nvidia/version").unlink()
    (gpu_node.bin / "nvidia-smi").unlink()

    assert gpu_node.run("node_gpu_driver", check=True, version="550.90.07", gpu_count=2)["changes"] == [
        "load driver 550.90.07"
    ]
    assert gpu_node.log == []
