"""What do `dcgmi diag -r LEVEL -j` and `dcgmi health -c -j` print (DCGM 4 layout)?"""

from __future__ import annotations

import json

from provisioning.simulator import observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

VERSION = "4.2.3"
# name, category and level from which it runs
TESTS = (
    ("software", "Deployment", 1),
    ("memory", "Hardware", 2),
    ("pcie", "Integration", 2),
    ("diagnostic", "Hardware", 3),
    ("targeted_stress", "Stress", 3),
    ("targeted_power", "Stress", 3),
    ("memtest", "Stress", 4),
)
# error_id, error_category, error_severity, as DCGM 4 numbers them
FALLEN, PENDING, REMAP_FAILED, UNCORRECTABLE = (16, 15, 4), (54, 10, 6), (55, 10, 2), (4, 10, 6)


def run(call: Call) -> int:
    """dcgmi diag | health | discovery | nvlink; anything else is refused as unknown."""
    if observed.nvml_error(call.state) is not None:
        return call.fail(
            255,
            "Error: Unable to complete diagnostic for group 2147483647. Return: (-37) The NVML library could not "
            "be loaded or initialized.",
        )
    what = call.argv[0] if call.argv else ""
    if what == "diag":
        return diag(call)
    if what == "health":
        return health(call)
    if what == "nvlink":
        return nvlink(call)
    if what in ("-v", "--version"):
        call.out(f"dcgmi  version: {VERSION}\n")
        return 0
    if what == "discovery":
        call.out(f"{len(observed.gpus(call.state))} GPUs found.\n")
        return 0
    return call.fail(1, f"Error: Required argument missing or unknown subsystem: {what}")


def diag(call: Call) -> int:
    """The exit status is 0 whatever was found: that is how the real one behaves, and why nobody may trust it."""
    level = call.argv[call.argv.index("-r") + 1] if "-r" in call.argv[:-1] else "1"
    if not level.isdigit() or not 1 <= int(level) <= 4:
        return call.fail(1, f"Error: Invalid test name or level: {level}")
    boards = observed.gpus(call.state)
    categories: dict[str, list[Json]] = {}
    for name, category, first_level in TESTS:
        if int(level) >= first_level:
            categories.setdefault(category, []).append(_test(call, name, boards))
    report = {
        "DCGM Diagnostic": {
            "test_categories": [{"category": key, "tests": tests} for key, tests in categories.items()]
        },
        "entity_groups": [
            {
                "entities": [
                    {
                        "device_id": call.state["hw"]["pci_id"],
                        "entity_id": board["index"],
                        "serial_num": board["serial"],
                    }
                    for board in boards
                ],
                "entity_group": "GPU",
                "entity_group_id": 1,
            }
        ],
        "metadata": {"Driver Version Detected": observed.driver_version(call.state), "version": VERSION},
    }
    call.out(json.dumps(report, indent=2, sort_keys=True) + "\n" if "-j" in call.argv else _table(report))
    return 0


def _test(call: Call, name: str, boards: list[Json]) -> Json:
    skipped = call.fault("dcgm-skip") is not None
    results: list[Json] = []
    for board in boards:
        result: Json = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": board["index"]}
        warnings = [] if skipped else _warnings(board)
        result["status"] = "Skip" if skipped else ("Fail" if warnings else "Pass")
        if warnings:
            result["warnings"] = warnings
        results.append(result)
    states = {result["status"] for result in results}
    summary = next((status for status in ("Fail", "Skip") if status in states), "Pass")
    return {"name": name, "results": results, "test_summary": {"status": summary}}


def _warnings(board: Json) -> list[Json]:
    found = []
    number = board["index"]
    if board["presence"] == "lost":
        found.append(
            _warning(
                FALLEN,
                f"GPU {number} is lost: it has fallen off the bus or is otherwise inaccessible. Reboot the node.",
            )
        )
    if board["remap"]["failure"]:
        found.append(
            _warning(
                REMAP_FAILED,
                f"GPU {number} had uncorrectable memory errors and row remapping failed. Run a field "
                "diagnostic on the GPU.",
            )
        )
    if board["dram_uncorrectable"]:
        found.append(
            _warning(
                UNCORRECTABLE,
                f"GPU {number} has {board['dram_uncorrectable']} volatile double bit ECC errors. Drain "
                "the GPU and reset it.",
            )
        )
    if board["remap"]["pending"]:
        found.append(
            _warning(
                PENDING, f"GPU {number} had memory errors and row remappings are pending. Reset the GPU."
            )
        )
    return found


def _warning(kind: tuple[int, int, int], text: str) -> Json:
    return {"error_category": kind[1], "error_id": kind[0], "error_severity": kind[2], "warning": text}


def _table(report: Json) -> str:
    lines = [
        "Successfully ran diagnostic for group.",
        "+---------------------------+------------------------------------------------+",
        "| Diagnostic                | Result                                         |",
        "+===========================+================================================+",
    ]
    for category in report["DCGM Diagnostic"]["test_categories"]:
        lines.append(
            f"|-----  {category['category']}  --------+------------------------------------------------|"
        )
        lines += [
            f"| {test['name']:<25} | {test['test_summary']['status']:<46} |" for test in category["tests"]
        ]
    return (
        "\n".join([*lines, "+---------------------------+------------------------------------------------+"])
        + "\n"
    )


def health(call: Call) -> int:
    """Overall word, and below it each entity with what is wrong. It never sees that a reset is needed: nor does the real one."""
    systems: Json = {}
    for board in observed.gpus(call.state):
        incidents = _incidents(board)
        if incidents:
            systems[f"GPU {board['index']}"] = {
                "children": {
                    name: {"children": {"Errors": {"value": text}}, "value": level}
                    for name, level, text in incidents
                },
                "value": "Failure" if any(level == "Failure" for _, level, _ in incidents) else "Warning",
            }
    worst = [entry["value"] for entry in systems.values()]
    overall = "Failure" if "Failure" in worst else ("Warning" if worst else "Healthy")
    body: Json = {"Overall Health": {"value": overall}}
    if systems:
        body["Overall Health"]["children"] = systems
    call.out(
        json.dumps({"body": body, "header": ["Health Monitor Report"]}, indent=8, separators=(",", " : "))
        + "\n"
    )
    return 0


def _incidents(board: Json) -> list[tuple[str, str, str]]:
    found = []
    down = [number for number, up in enumerate(board["links"]) if not up]
    if board["presence"] == "lost":
        found.append(
            ("Driver", "Failure", "GPU is lost: it has fallen off the bus or is otherwise inaccessible.")
        )
    if down:
        found.append(
            ("NVLink system", "Failure", f"NVLink {down[0]} of GPU {board['index']} is currently down.")
        )
    if board["dram_uncorrectable"]:
        found.append(
            ("Memory system", "Failure", f"{board['dram_uncorrectable']} volatile double bit ECC errors.")
        )
    if board["remap"]["failure"]:
        found.append(("Memory system", "Failure", "Row remapping has failed."))
    if "hw_thermal_slowdown" in board["reasons"]:
        found.append(("Thermal system", "Warning", "Thermal violations totaling 41.7 seconds were detected."))
    return found


def nvlink(call: Call) -> int:
    """dcgmi nvlink -s: U up, D down."""
    call.out("+----------------------+\n|  NvLink Link Status  |\n+----------------------+\nGPUs:\n")
    for board in observed.gpus(call.state):
        call.out(
            f"    gpuId {board['index']}:\n        "
            + " ".join("U" if up else "D" for up in board["links"])
            + "\n"
        )
    return 0
