"""What do all_reduce_perf (one node) and mpirun … all_reduce_perf (several nodes) print?

The several-node form is spelled as on real nodes: `mpirun -np 16 -H gpu-001:8,gpu-002:8 all_reduce_perf -b 1G -e 8G -f 2 -g 1`.
Its stand-in looks the hosts up among the neighbouring node folders, by name or address. The slowest of them sets the pace.
"""

from __future__ import annotations

from provisioning.simulator import figures, node, noise, observed
from provisioning.simulator.call import Call, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HALF_SPEED_BYTES = 9.0e6  # at this size half of the plateau is reached
MPI_VALUES = (
    "-np",
    "-n",
    "-c",
    "-H",
    "--host",
    "-host",
    "--hostfile",
    "-hostfile",
    "--bind-to",
    "--map-by",
    "-N",
    "--timeout",
)
HEAD = """\
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""  # noqa: W291


def all_reduce_perf(call: Call) -> int:
    """all_reduce_perf -b MIN -e MAX -f FACTOR -g GPUS on this node alone."""
    given, _ = options(call.argv, ("-b", "-e", "-f", "-g", "-n", "-w", "-c", "-t", "-i"))
    wanted = max(1, _count(given.get("-g", "1")))
    problem = _problem(call.state)
    if problem is None and wanted > len(observed.gpus(call.state)):
        problem = f"{call.state['name']}: Test CUDA failure common.cu:892 'invalid device ordinal'"
    number = call.run_number("nccl_busbw")
    value = figures.measured(call.state, "nccl_busbw", number)
    return _measure(call, given, [(call.state, wanted)], value, problem, number)


def mpirun(call: Call) -> int:
    """mpirun … -H host:slots,… [-np N] all_reduce_perf …"""
    at = next(
        (number for number, word in enumerate(call.argv) if word.split("/")[-1] == "all_reduce_perf"), None
    )
    if at is None:
        return call.fail(1, NO_PROGRAM)
    launch, test = (
        _launch_options(call.argv[:at]),
        options(call.argv[at + 1 :], ("-b", "-e", "-f", "-g", "-n", "-w", "-c", "-t"))[0],
    )
    hosts = [part.partition(":") for part in launch["hosts"].split(",") if part]
    slots = [(name, int(count) if count.isdigit() else 1) for name, _, count in hosts] or [
        (call.state["name"], 8)
    ]
    total = sum(count for _, count in slots)
    if _count(launch["np"] or str(total)) > total:
        return call.fail(1, NOT_ENOUGH.format(wanted=launch["np"]))
    members: list[tuple[State, int]] = []
    left = _count(launch["np"] or str(total))
    for name, offered in slots:
        count = min(offered, left)
        left -= count
        if not count:
            continue
        folder = call.neighbour(name)
        state = None if folder is None else node.read_state(folder)
        if state is None or state["faults"].keys() & {"unreachable", "hang"} or state["boot"]["down_until"]:
            return call.fail(1, UNREACHABLE.format(host=name))
        members.append((state, count * max(1, _count(test.get("-g", "1")))))
    number = call.run_number("cluster_busbw")
    return _measure(call, test, members, _pace(members, number), _first_problem(members), number)


def _launch_options(argv: list[str]) -> dict[str, str]:
    found = {"hosts": "", "np": ""}
    for word, value in zip(argv, argv[1:], strict=False):
        if word in ("-H", "--host", "-host"):
            found["hosts"] = value
        if word in ("-np", "-n", "-c"):
            found["np"] = value
    return found


def _pace(members: list[tuple[State, int]], number: int) -> float | None:
    """Every ring goes through every node: the slowest fabric (or the slowest NVLinks) is the speed of all."""
    metric = "cluster_busbw" if len(members) > 1 else "nccl_busbw"
    values = [figures.measured(state, metric, number) for state, _ in members]
    return None if None in values else min(value for value in values if value is not None)


def _first_problem(members: list[tuple[State, int]]) -> str | None:
    for state, count in members:
        problem = _problem(state)
        if problem is None and count > len(observed.gpus(state)):
            problem = f"{state['name']}: Test CUDA failure common.cu:892 'invalid device ordinal'"
        if problem is not None:
            return problem
    return None


def _problem(state: State) -> str | None:
    """What stops the test on this node before anything is measured."""
    trouble = observed.cuda_error(state)
    if trouble is not None:
        return f"{state['name']}: Test CUDA failure common.cu:892 '{trouble[1]}'"
    if any(board["presence"] == "lost" for board in observed.gpus(state)):
        return f"{state['name']}: Test NCCL failure common.cu:1005 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '"
    return None


def _measure(
    call: Call,
    given: dict[str, str],
    members: list[tuple[State, int]],
    value: float | None,
    problem: str | None,
    number: int,
) -> int:
    smallest, largest = _bytes(given.get("-b", "32M")), _bytes(given.get("-e", given.get("-b", "32M")))
    if smallest < 4 or largest < smallest:
        return call.fail(255, "invalid size specified for 'minbytes' or 'maxbytes'")
    factor = max(2, _count(given.get("-f", "2")))
    checked = given.get("-c", "1") != "0"
    call.out(
        f"# nThread 1 nGpus {given.get('-g', '1')} minBytes {smallest} maxBytes {largest} step: {factor}(factor) "
        f"warmup iters: 5 iters: 20 agg iters: 1 validation: {int(checked)} graph: 0\n#\n# Using devices\n"
    )
    call.out("".join(_rank_lines(members)))
    if problem is not None or value is None:
        name = call.state["name"]
        call.out(
            f"{problem or 'no figure for this SKU'}\n .. {name} pid 41999: Test failure common.cu:1212\n"
        )
        return 3
    branch = members[0][0]["driver"]["loaded"].split(".")[0]
    call.out(f"NCCL version {NCCL.get(branch, '2.26.2+cuda12.8')}\n" + HEAD)
    sizes = [smallest * factor**step for step in range(64) if smallest * factor**step <= largest]
    return _rows(call, members, value, number, sizes, checked=checked)


def _rows(
    call: Call,
    members: list[tuple[State, int]],
    value: float,
    number: int,
    sizes: list[int],
    *,
    checked: bool,
) -> int:
    """The table and its summary; without a check of the results the wrong ones stay unknown."""
    ranks = sum(count for _, count in members)
    wrong = max((_wrong(state) for state, _ in members), default=0) if checked else 0
    speeds = []
    for size in sizes:
        cells = ""
        for side in ("out", "in"):
            text, speed = _row(value, size, ranks, (call.state["seed"], call.state["name"], number, side))
            cells += f"  {text}  {wrong if checked else 'N/A':>5}"
            speeds.append(speed)
        call.out(f"{size:>12}  {size // 4:>12}  {'float':>8}  {'sum':>6}  {-1:>6}{cells}\n")
    average = sum(speeds) / len(speeds) if speeds else 0.0
    bounds = f"{wrong * len(speeds)} FAILED" if wrong else "0 OK"
    call.out(f"# Out of bounds values : {bounds}\n# Avg bus bandwidth    : {average:g} \n#\n\n")
    return 1 if wrong else 0


def _wrong(state: State) -> int:
    """How many results per size this node computes wrongly."""
    fault = state["faults"].get("nccl-wrong")
    return 0 if fault is None else int(fault["params"]["wrong"])


NCCL = {
    "535": "2.18.5+cuda12.2",
    "550": "2.21.5+cuda12.4",
    "560": "2.23.4+cuda12.6",
    "570": "2.26.2+cuda12.8",
    "580": "2.28.3+cuda13.0",
}


def _rank_lines(members: list[tuple[State, int]]) -> list[str]:
    lines: list[str] = []
    for state, count in members:
        for board in observed.gpus(state)[:count]:
            rank = len(lines)
            lines.append(
                f"#  Rank {rank:>2} Group  0 Pid {66421 + rank:>6} on {state['name']:>10} device {board['index']:>2} "
                f"[0x{board['bus']}] {state['sku']['gpu_model']}\n"
            )
    return lines


def _row(plateau: float, size: int, ranks: int, key: tuple[object, ...]) -> tuple[str, float]:
    """Time, algorithm bandwidth and bus bandwidth of one size, and the latter as a number."""
    busbw = plateau * size / (size + HALF_SPEED_BYTES) * (1.0 + noise.gauss(*key, size, sd=0.0015))
    algbw = busbw / (2.0 * (ranks - 1) / ranks) if ranks > 1 else busbw
    microseconds = size / (algbw * 1e3)
    digits = 0 if microseconds >= 10000 else (1 if microseconds >= 100 else 2)
    return f"{microseconds:>7.{digits}f}  {algbw:>6.2f}  {busbw if ranks > 1 else 0.0:>6.2f}", round(
        busbw if ranks > 1 else 0.0, 2
    )


def _bytes(text: str) -> int:
    """1G, 64M, 4096; 0 for what is no size."""
    unit = UNITS.get(text[-1:].upper())
    return _count(text) if unit is None else _count(text[:-1]) * unit


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


RULE = "-" * 74 + "\n"
NO_PROGRAM = (
    RULE
    + "mpirun could not find anything to do.\n\nIt is possible that you forgot to specify how many processes to run\n"
    'via the "-np" argument.\n' + RULE
)
NOT_ENOUGH = (
    RULE
    + """\
There are not enough slots available in the system to satisfy the {wanted}
slots that were requested by the application:

  all_reduce_perf

Either request fewer slots for your application, or make more slots
available for use.
"""
    + RULE
)
UNREACHABLE = (
    "ssh: connect to host {host} port 22: No route to host\n"
    + RULE
    + """\
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes. Please check your PATH and LD_LIBRARY_PATH
  settings, or configure OMPI with --enable-orterun-prefix-by-default

"""
    + RULE
)
