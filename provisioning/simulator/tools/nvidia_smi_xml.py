"""What does `nvidia-smi -q -x` print: schema v12, laid out as drivers before and from 560 do?"""

from __future__ import annotations

import time

from provisioning.simulator import observed
from provisioning.simulator.call import Call
from provisioning.simulator.tools import nvidia_smi_board, nvidia_smi_gauges
from provisioning.simulator.tools.nvidia_smi_words import cuda_version, lost_lines, pci_id
from provisioning.simulator.tools.xml_elements import rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Board = dict[str, Any]
    from provisioning.simulator.tools.xml_elements import Element


def run(call: Call) -> int:
    """The whole log; a board that no longer answers has no element, and its complaint comes before the prolog."""
    if "-x" not in call.argv and "--xml-format" not in call.argv:
        from provisioning.simulator.tools import nvidia_smi_text

        return nvidia_smi_text.query(call)
    boards = observed.gpus(call.state)
    complaints = lost_lines(boards)
    call.out("".join(complaints))
    version = observed.driver_version(call.state)
    top: list[Element] = [
        ("timestamp", time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime())),
        ("driver_version", version),
        ("cuda_version", cuda_version(version)),
        ("attached_gpus", str(len(boards))),
    ]
    call.out(
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
    )
    call.out(rendered(top, 1))
    for board in _chosen(call, boards):
        if board["presence"] == "ok":
            call.out(f'\t<gpu id="{pci_id(board)}">\n{rendered(gpu(call.state, board), 2)}\t</gpu>\n\n')
    call.out("</nvidia_smi_log>\n")
    return 15 if complaints else 0


def _chosen(call: Call, boards: list[Board]) -> list[Board]:
    """`-i 3` or `--id=3`: one board by index, PCI id or UUID."""
    wanted = [word.split("=", 1)[1] for word in call.argv if word.startswith("--id=")]
    if "-i" in call.argv[:-1]:
        wanted.append(call.argv[call.argv.index("-i") + 1])
    names = [name for text in wanted for name in text.split(",")]
    if not names:
        return boards
    return [board for board in boards if {str(board["index"]), board["uuid"], pci_id(board)} & set(names)]


def gpu(state: dict[str, Any], board: Board) -> list[Element]:
    """One gpu element, in the order of the real one."""
    modern = int(observed.driver_version(state).split(".")[0]) >= 560
    return [
        *nvidia_smi_board.identity(state, board, modern=modern),
        *nvidia_smi_board.reset(state, board, modern=modern),
        *nvidia_smi_board.bus(state, board, modern=modern),
        *nvidia_smi_board.activity(board),
        *nvidia_smi_gauges.memory(state, modern=modern),
        *nvidia_smi_gauges.errors(state, board),
        *nvidia_smi_gauges.temperature(state, board),
        *nvidia_smi_gauges.power(board, modern=modern),
        *nvidia_smi_gauges.clocks(state, board),
        *nvidia_smi_gauges.fabric(board),
        *nvidia_smi_gauges.last(state, modern=modern),
    ]
