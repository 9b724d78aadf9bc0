"""Which names and complaints do all forms of nvidia-smi share?"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Board = dict[str, Any]

CUDA = {
    "535": "12.2",
    "550": "12.4",
    "555": "12.5",
    "560": "12.6",
    "565": "12.7",
    "570": "12.8",
    "575": "12.9",
    "580": "13.0",
}


def cuda_version(driver: str) -> str:
    """The CUDA version a driver branch brings."""
    return CUDA.get(driver.split(".")[0], "12.8")


def pci_id(board: Board) -> str:
    return f"00000000:{board['bus'].upper()}:00.0"


def lost_lines(boards: list[Board]) -> list[str]:
    """What nvidia-smi says of boards that no longer answer, before it says anything else."""
    return [
        f"Unable to determine the device handle for GPU{board['index']}: 0000:{board['bus'].upper()}:00.0: Unknown Error\n"
        for board in boards
        if board["presence"] == "lost" and board["named"]
    ]


def vbios(state: dict[str, Any]) -> str:
    """The SKU's pinned VBIOS; where none is pinned, one the model has been seen with."""
    return str(state["sku"].get("vbios") or state["hw"]["vbios"])
