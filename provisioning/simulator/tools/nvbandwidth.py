"""What does nvbandwidth print: one matrix and one SUM line per test?"""

from __future__ import annotations

from provisioning.simulator import figures, observed
from provisioning.simulator.call import Call
from provisioning.simulator.tools import nvidia_smi_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Cell = Callable[[int, int], float | None]

HOST_TESTS = {  # test -> (metric, heading)
    "host_to_device_memcpy_ce": ("h2d_bw", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"),
    "device_to_host_memcpy_ce": ("d2h_bw", "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)"),
    "host_to_device_memcpy_sm": ("h2d_bw", "memcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)"),
    "device_to_host_memcpy_sm": ("d2h_bw", "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)"),
}
PEER_TESTS = {
    "device_to_device_memcpy_read_ce": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
    "device_to_device_memcpy_write_ce": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
}
BOTH_WAYS = {
    "device_to_device_bidirectional_memcpy_read_ce": ("Read1", "Read2", "Total"),
    "device_to_device_bidirectional_memcpy_write_ce": ("Write1", "Write2", "Total"),
}
TESTS = [*HOST_TESTS, *PEER_TESTS, *BOTH_WAYS]


def run(call: Call) -> int:
    """nvbandwidth [-l] [-t TEST [TEST…]] [-j is not offered]"""
    if "-l" in call.argv or "--list" in call.argv:
        call.out(
            "Index, Name:\n\tDescription\n=======================\n"
            + "".join(f"{index}, {name}:\n" for index, name in enumerate(TESTS))
        )
        return 0
    wanted = _wanted(call.argv)
    unknown = [name for name in wanted if name not in TESTS]
    if unknown:
        call.out(f"ERROR: Testcase {unknown[0]} not found!\n")
        return 1
    trouble = observed.cuda_error(call.state)
    boards = observed.gpus(call.state)
    if trouble is None and any(board["presence"] != "ok" for board in boards):
        trouble = (999, "unknown error")
    if trouble is not None:
        call.out(f"[CUDA_ERROR_{trouble[0]}] {trouble[1]} in expression cuInit(0) in main() : main.cpp:207\n")
        return 1
    version = observed.driver_version(call.state)
    cuda = nvidia_smi_words.cuda_version(version).split(".")
    code = int(cuda[0]) * 1000 + int(cuda[1]) * 10
    call.out(
        f"nvbandwidth Version: v0.6\nBuilt from Git version: v0.6\n\nCUDA Runtime Version: {code}\nCUDA Driver Version: {code}\n"
        f"Driver Version: {version}\n\n"
    )
    for board in boards:
        call.out(f"Device {board['index']}: {call.state['sku']['gpu_model']} (00000000:{board['bus']}:00)\n")
    call.out("\n")
    number = call.run_number("nvbandwidth")
    for name in wanted:
        _test(call, name, [board["slot"] for board in boards], number)
    call.out(
        "NOTE: The reported results may not reflect the full capabilities of the platform.\n"
        "Performance can vary with software drivers, hardware clocks, and system topology.\n\n"
    )
    return 0


def _wanted(argv: list[str]) -> list[str]:
    names: list[str] = []
    taking = False
    for word in argv:
        if word in ("-t", "--testcase"):
            taking = True
        elif word.startswith("-"):
            taking = False
        elif taking:
            names.append(TESTS[int(word)] if word.isdigit() and int(word) < len(TESTS) else word)
    return names or TESTS


def _test(call: Call, name: str, slots: list[int], number: int) -> None:
    def peer(row: int, column: int) -> float | None:
        """A copy between two GPUs runs at the pace of the slower one; a GPU does not copy to itself here."""
        if row == column:
            return None
        ends = [figures.measured(call.state, "p2p_bw", number, slots[at]) for at in (row, column)]
        return None if None in ends else min(end for end in ends if end is not None)

    call.out(f"Running {name}.\n")
    if name in HOST_TESTS:
        metric, heading = HOST_TESTS[name]
        _matrix(
            call,
            name,
            heading,
            1,
            len(slots),
            lambda _row, column: figures.measured(call.state, metric, number, slots[column]),
        )
    elif len(slots) < 2:
        call.out("Waived:\n")
    elif name in PEER_TESTS:
        _matrix(call, name, PEER_TESTS[name], len(slots), len(slots), peer)
    else:
        for part in BOTH_WAYS[name]:

            def cell(row: int, column: int, part: str = part) -> float | None:
                value = peer(row, column)
                return None if value is None else value * (1.99 if part == "Total" else 0.995)

            _matrix(
                call,
                f"{name}_{part.lower()}",
                f"memcpy CE GPU(row) <-> GPU(column) {part} bandwidth (GB/s)",
                len(slots),
                len(slots),
                cell,
            )


def _matrix(call: Call, name: str, heading: str, rows: int, columns: int, cell: Cell) -> None:
    total = 0.0
    call.out(f"{heading}\n  " + "".join(f"{column:>10}" for column in range(columns)) + "\n")
    for row in range(rows):
        values = [cell(row, column) for column in range(columns)]
        total += sum(value for value in values if value is not None)
        call.out(
            f"{row:>2}"
            + "".join(f"{'N/A':>10}" if value is None else f"{value:>10.2f}" for value in values)
            + "\n"
        )
    call.out(f"\nSUM {name} {total:.2f}\n\n")
