"""What do nvidia-smi's forms for people print: -L, the table, -q, nvlink -s, topo -m?"""

from __future__ import annotations

import time

from provisioning.simulator import observed
from provisioning.simulator.call import Call
from provisioning.simulator.tools import nvidia_smi_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RULE = "+-----------------------------------------+------------------------+----------------------+\n"


def _head(call: Call, board: dict[str, Any]) -> str:
    return f"GPU {board['index']}: {call.state['sku']['gpu_model']} (UUID: {board['uuid']})\n"


def list_gpus(call: Call) -> int:
    """nvidia-smi -L"""
    for board in observed.gpus(call.state):
        if board["presence"] == "ok":
            call.out(_head(call, board))
        elif board["named"]:
            call.out("".join(nvidia_smi_words.lost_lines([board])))
    return 0


def nvlink(call: Call) -> int:
    """nvidia-smi nvlink -s (states and speeds) or -e (error counters)."""
    errors = "-e" in call.argv or "--errorcounters" in call.argv
    for board in observed.gpus(call.state):
        if board["presence"] != "ok":
            continue
        call.out(_head(call, board))
        if not any(board["links"]):
            call.out("NVML: Unable to retrieve NVLink information as all links are inActive\n")
            continue
        for number, up in enumerate(board["links"]):
            call.out(_link_errors(number, up=up) if errors else _link_state(call.state, number, up=up))
    return 0


def _link_state(state: dict[str, Any], number: int, *, up: bool) -> str:
    return (
        f"\t Link {number}: {state['sku']['nvlink']['gbps_per_link']:g} GB/s\n"
        if up
        else f"\t Link {number}: <inactive>\n"
    )


def _link_errors(number: int, *, up: bool) -> str:
    count = 0 if up else 4
    return "".join(
        f"\t Link {number}: {name}: {value}\n"
        for name, value in (("Replay Errors", count), ("Recovery Errors", count), ("CRC Errors", 0))
    )


def topo(call: Call) -> int:
    """nvidia-smi topo -m: GPUs and NICs as rows and columns, then what the letters mean."""
    boards = [board for board in observed.gpus(call.state) if board["presence"] == "ok"]
    nics = call.state["nics"]
    heads = [f"GPU{board['index']}" for board in boards] + [f"NIC{number}" for number in range(len(nics))]
    call.out("\t" + "\t".join([*heads, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]) + "\n")
    half = (len(call.state["gpus"]) + 1) // 2
    for board in boards:
        row = [_gpu_cell(board, other) for other in boards] + [
            _nic_cell(board["slot"], nic, half) for nic in range(len(nics))
        ]
        numa = board["slot"] // half
        affinity = "0-47,96-143" if numa == 0 else "48-95,144-191"
        call.out("\t".join([f"GPU{board['index']}", *row, affinity, str(numa), "N/A"]) + "\n")
    for number in range(len(nics)):
        row = [_nic_cell(board["slot"], number, half) for board in boards]
        row += [
            " X " if other == number else ("NODE" if other // half == number // half else "SYS")
            for other in range(len(nics))
        ]
        call.out("\t".join([f"NIC{number}", *row]) + "\n")
    call.out(LEGEND + "\n".join(f"  NIC{number}: {nic['name']}" for number, nic in enumerate(nics)) + "\n\n")
    return 0


def _gpu_cell(board: dict[str, Any], other: dict[str, Any]) -> str:
    if board is other:
        return " X "
    links = min(sum(board["links"]), sum(other["links"]))
    return f"NV{links}" if links else "SYS"


def _nic_cell(slot: int, nic: int, half: int) -> str:
    return "PIX" if slot == nic else ("NODE" if slot // half == nic // half else "SYS")


LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

"""


def table(call: Call) -> int:
    """Plain nvidia-smi."""
    boards = observed.gpus(call.state)
    call.out("".join(nvidia_smi_words.lost_lines(boards)))
    version = observed.driver_version(call.state)
    cuda = nvidia_smi_words.cuda_version(version)
    call.out(time.strftime("%a %b %e %H:%M:%S %Y       \n", time.gmtime()))
    call.out("+-----------------------------------------------------------------------------------------+\n")
    call.out(f"| NVIDIA-SMI {version:<22} Driver Version: {version:<14} CUDA Version: {cuda:<8} |\n")
    call.out("|" + RULE[1:] + TABLE_HEAD)
    for board in boards:
        if board["presence"] == "ok":
            call.out(_table_rows(call.state, board) + RULE)
    call.out(PROCESSES)
    return 15 if any(board["presence"] == "lost" and board["named"] for board in boards) else 0


TABLE_HEAD = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
PROCESSES = """\
{blank}
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
""".format(blank=" " * 89)


def _table_rows(state: dict[str, Any], board: dict[str, Any]) -> str:
    memory = f"1MiB / {state['sku']['memory_mib']:>6}MiB"
    power = f"{board['power']:.0f}W / {board['power_limit']:>4.0f}W"
    name = str(state["sku"]["gpu_model"])[:27]
    return (
        f"| {board['index']:>3}  {name:<27}    On  |   {nvidia_smi_words.pci_id(board)} Off | {board['dram_uncorrectable']:>20} |\n"
        f"| N/A   {board['temp']}C    P0{power:>24} |{memory:>23} |      0%      Default |\n"
        "|                                         |                        |             Disabled |\n"
    )


def query(call: Call) -> int:
    """nvidia-smi -q without -x: the same facts as indented text; only the headings that people read most."""
    boards = observed.gpus(call.state)
    version = observed.driver_version(call.state)
    call.out("".join(nvidia_smi_words.lost_lines(boards)))
    call.out("\n==============NVSMI LOG==============\n\n")
    call.out(
        _line(0, "Timestamp", time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime()))
        + _line(0, "Driver Version", version)
    )
    call.out(
        _line(0, "CUDA Version", nvidia_smi_words.cuda_version(version))
        + "\n"
        + _line(0, "Attached GPUs", str(len(boards)))
    )
    for board in boards:
        if board["presence"] == "ok":
            call.out(f"GPU {nvidia_smi_words.pci_id(board)}\n" + _query_rows(call.state, board) + "\n")
    return 0


def _line(depth: int, name: str, value: str) -> str:
    return f"{'    ' * depth + name:<42}: {value}\n"


def _query_rows(state: dict[str, Any], board: dict[str, Any]) -> str:
    recovery = (
        ""
        if int(observed.driver_version(state).split(".")[0]) < 560
        else _line(1, "GPU Recovery Action", board["recovery"])
    )
    remap = board["remap"]
    return "".join(
        [
            _line(1, "Product Name", state["sku"]["gpu_model"]),
            _line(1, "Serial Number", board["serial"]),
            _line(1, "GPU UUID", board["uuid"]),
            _line(1, "VBIOS Version", nvidia_smi_words.vbios(state)),
            recovery,
            _line(1, "Performance State", "P0"),
            "    Remapped Rows\n",
            _line(2, "Correctable Error", str(remap["corr"])),
            _line(2, "Uncorrectable Error", str(remap["unc"])),
            _line(2, "Pending", "Yes" if remap["pending"] else "No"),
            _line(2, "Remapping Failure Occurred", "Yes" if remap["failure"] else "No"),
            "    Temperature\n",
            _line(2, "GPU Current Temp", f"{board['temp']} C"),
            "    Fabric\n",
            _line(2, "State", board["fabric"][0]),
            _line(2, "Status", board["fabric"][1]),
        ]
    )
