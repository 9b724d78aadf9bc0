"""Does the probe bring everything home in one piece, bounded in time and size, and tell what it could not measure?"""

from __future__ import annotations

import ast
import base64
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.conftest import ANSIBLE, ModuleFailed, ToolNode

PASSIVE = {
    "nvidia-smi-xml",
    "nvidia-smi-nvlink",
    "lspci",
    "kernel-log",
    "ibstat",
    "chronyc-tracking",
    "mounts",
    "kernel",
    "fabric-manager",
    "ib-sysfs",
}
DIAGNOSTICS = {"dcgmi-health", "dcgmi-diag"}
MEASURED = {"gemm", "nvbandwidth", "gpu-stream", "nccl-all-reduce"}


def probe(node: ToolNode, *checks: str, **params: Any) -> list[dict[str, Any]]:
    given = {"node": "gpu-001", "time_limit": 20, "repeats": 1, "simulated": True, **params}
    rows: list[dict[str, Any]] = node.run("gpu_probe", checks=list(checks), **given)["probe"]["evidence"]
    return rows


def stdout(row: dict[str, Any]) -> bytes:
    return gzip.decompress(base64.b64decode(row["stdout"]))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def soon(what: Any, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(what())


def test_probe_tells_who_when_and_of_which_boot(tool_node: ToolNode) -> None:
    tool_node.put("/proc/sys/kernel/random/boot_id", "3f6d\n")
    tool_node.tool("uname", "echo 5.15.0-122-generic")
    told = tool_node.run("gpu_probe", node="gpu-007", checks=["kernel"], simulated=True)

    assert told["changed"] is False
    row = told["probe"].pop("evidence")[0]
    assert told["probe"].pop("taken_at").endswith("Z")
    assert told["probe"] == {"schema": 1, "node": "gpu-007", "boot_id": "3f6d", "simulated": True}
    assert stdout(row) == b"5.15.0-122-generic\n"
    assert {
        key: row[key]
        for key in ("id", "command", "outcome", "rc", "stdout_bytes", "truncated", "stderr", "run")
    } == {
        "id": "kernel",
        "command": ["uname", "-r"],
        "outcome": "ran",
        "rc": 0,
        "stdout_bytes": 19,
        "truncated": False,
        "stderr": "",
        "run": 1,
    }
    assert 0 < row["seconds"] < 20


def test_probe_gathers_all_without_being_told_what(tool_node: ToolNode) -> None:
    tool_node.put("/sys/class/infiniband/mlx5_0/fw_ver", "28.41.1000\n")
    for name in (
        "nvidia-smi",
        "lspci",
        "journalctl",
        "ibstat",
        "chronyc",
        "findmnt",
        "uname",
        "systemctl",
        "dcgmi",
        "gpu-gemm",
        "nvbandwidth",
        "gpu_stream",
        "all_reduce_perf",
    ):
        tool_node.tool(name, "echo $0")
    rows = probe(tool_node, repeats=2, gpu_count=4)

    assert {row["id"] for row in rows} == PASSIVE | DIAGNOSTICS | MEASURED
    assert {row["outcome"] for row in rows} == {"ran"}
    assert sorted((row["id"], row["run"]) for row in rows if row["id"] in MEASURED) == sorted(
        (name, run) for name in MEASURED for run in (1, 2)
    )
    assert "all_reduce_perf -b 1G -e 8G -f 2 -g 4" in tool_node.log
    assert tool_node.log.count("nvidia-smi -q -x") == 1


def test_missing_tool_is_told_and_not_tried_again(tool_node: ToolNode) -> None:
    rows = probe(tool_node, "gemm", "ib-sysfs", repeats=3)

    assert [(row["id"], row["outcome"], row["rc"]) for row in rows] == [
        ("ib-sysfs", "missing", None),
        ("gemm", "missing", None),
    ]
    assert rows[1]["stderr"] == "gpu-gemm is not installed"


def test_real_tools_of_this_machine_are_never_taken_for_the_nodes_own(tool_node: ToolNode) -> None:
    rows = probe(tool_node, "kernel", "mounts")

    assert [row["outcome"] for row in rows] == ["missing", "missing"]


def test_exit_code_and_first_words_of_the_error_come_home(tool_node: ToolNode) -> None:
    tool_node.tool("gpu-gemm", "echo half; head -c 9000 /dev/zero | tr '\\0' x >&2; exit 7")
    rows = probe(tool_node, "gemm", repeats=3)

    assert [(row["outcome"], row["rc"], stdout(row), len(row["stderr"])) for row in rows] == [
        ("ran", 7, b"half\n", 4096)
    ] * 3


def test_bytes_come_home_as_they_are(tool_node: ToolNode) -> None:
    tool_node.tool("uname", "printf '\\377\\376\\000x'; printf '\\377' >&2")
    row = probe(tool_node, "kernel")[0]

    assert stdout(row) == b"\xff\xfe\x00x"
    assert row["stderr"] == "\ufffd"


def test_flood_is_cut_at_two_megabytes_and_counted(tool_node: ToolNode) -> None:
    tool_node.tool("uname", "head -c 5000000 /dev/zero; echo end >&2")
    row = probe(tool_node, "kernel")[0]

    assert (len(stdout(row)), row["stdout_bytes"], row["truncated"]) == (2 * 1024 * 1024, 5000000, True)
    assert (row["outcome"], row["rc"], row["stderr"]) == ("ran", 0, "end\n")


def test_tool_that_does_not_end_is_ended_with_all_it_started(tool_node: ToolNode) -> None:
    tool_node.tool("gpu-gemm", 'echo begun; sleep 300 & echo $! > "$D/child"; echo $$ > "$D/pid"; wait')
    started = time.monotonic()
    rows = probe(tool_node, "gemm", time_limit=1, repeats=3)

    assert [(row["outcome"], row["rc"]) for row in rows] == [("timed_out", None)]
    assert stdout(rows[0]) == b"begun\n"
    assert time.monotonic() - started < 12
    assert soon(
        lambda: not any(alive(int((tool_node.folder / name).read_text())) for name in ("pid", "child"))
    )


def test_tool_that_ignores_term_is_killed(tool_node: ToolNode) -> None:
    tool_node.tool("uname", 'trap "" TERM; echo $$ > "$D/pid"; while :; do sleep 0.2; done')
    row = probe(tool_node, "kernel", time_limit=0.5)[0]

    assert row["outcome"] == "timed_out"
    assert soon(lambda: not alive(int((tool_node.folder / "pid").read_text())))
    assert list((tool_node.root / "run/quartermaster").iterdir()) == []


def test_tool_that_leaves_a_child_with_its_output_open_is_not_waited_for(tool_node: ToolNode) -> None:
    tool_node.tool("uname", 'echo done; sleep 300 & echo $! > "$D/child"')
    started = time.monotonic()
    row = probe(tool_node, "kernel")[0]

    assert (row["outcome"], row["rc"], stdout(row)) == ("ran", 0, b"done\n")
    assert time.monotonic() - started < 8
    assert soon(lambda: not alive(int((tool_node.folder / "child").read_text())))


def test_second_copy_is_not_started_while_the_first_lives(tool_node: ToolNode) -> None:
    tool_node.tool("nvidia-smi")
    stuck = subprocess.Popen(["sleep", "60"])
    try:
        born = Path(f"/proc/{stuck.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        tool_node.put("/run/quartermaster/probe-nvidia-smi-xml", f"{stuck.pid} {born}\n")
        row = probe(tool_node, "nvidia-smi-xml")[0]

        assert (row["outcome"], tool_node.log) == ("timed_out", [])
        assert f"pid {stuck.pid}" in row["stderr"]
    finally:
        stuck.kill()
        stuck.wait()
    assert probe(tool_node, "nvidia-smi-xml")[0]["outcome"] == "ran"


@pytest.mark.parametrize("text", ["", "x y\n", "1\n", "999999999 5\n", "{pid} 1\n"])
def test_marker_that_names_no_living_copy_stops_nothing(tool_node: ToolNode, text: str) -> None:
    tool_node.tool("uname", "echo 5.15")
    tool_node.put("/run/quartermaster/probe-kernel", text.format(pid=os.getpid()))

    assert probe(tool_node, "kernel")[0]["outcome"] == "ran"
    assert list((tool_node.root / "run/quartermaster").iterdir()) == []


def test_tool_that_can_not_be_started_says_so(tool_node: ToolNode) -> None:
    path = tool_node.bin / "uname"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    row = probe(tool_node, "kernel")[0]

    assert row["outcome"] == "failed_to_start"
    assert row["stderr"]


def test_tool_that_itself_ends_with_127_has_run(tool_node: ToolNode) -> None:
    tool_node.tool("uname", "echo lib missing >&2; exit 127")
    row = probe(tool_node, "kernel")[0]

    assert (row["outcome"], row["rc"]) == ("ran", 127)


@pytest.mark.parametrize("journal", [None, "exit 1"])
def test_kernel_ring_buffer_stands_in_for_the_journal(tool_node: ToolNode, journal: str | None) -> None:
    if journal is not None:
        tool_node.tool("journalctl", journal)
    tool_node.tool("dmesg", "echo ring buffer")
    row = probe(tool_node, "kernel-log")[0]

    assert (row["command"], stdout(row)) == (["dmesg", "--time-format=iso"], b"ring buffer\n")


def test_journal_that_failed_is_told_when_there_is_no_ring_buffer(tool_node: ToolNode) -> None:
    tool_node.tool("journalctl", "echo no journal >&2; exit 1")
    row = probe(tool_node, "kernel-log")[0]

    assert (row["command"][0], row["rc"], row["stderr"]) == ("journalctl", 1, "no journal\n")


def test_lspci_of_both_vendors_is_one_piece(tool_node: ToolNode) -> None:
    tool_node.tool("lspci", 'echo "$3"')
    row = probe(tool_node, "lspci")[0]

    assert stdout(row) == b"10de:\n15b3:\n"
    assert (row["rc"], row["stdout_bytes"], row["truncated"]) == (0, 12, False)


def test_sysfs_is_folded_as_the_capture_is(tool_node: ToolNode, captures: Path) -> None:
    lines = (captures / "infiniband/sys-class-infiniband-h100.txt").read_text().splitlines()
    for line in lines:
        path, _, value = line.partition(": ")
        tool_node.put(f"/sys/class/infiniband/{path}", f"{value}\n")
    row = probe(tool_node, "ib-sysfs")[0]

    assert (row["outcome"], row["rc"]) == ("ran", 0)
    assert sorted(stdout(row).decode().splitlines()) == sorted(line for line in lines if line)


def test_passive_tools_run_side_by_side(tool_node: ToolNode) -> None:
    for name in ("uname", "ibstat", "chronyc", "findmnt", "systemctl", "nvidia-smi"):
        tool_node.tool(name, "sleep 1.5")
    started = time.monotonic()
    probe(tool_node, "kernel", "ibstat", "chronyc-tracking", "mounts", "fabric-manager", "nvidia-smi-nvlink")

    assert time.monotonic() - started < 6


def test_measured_tools_have_the_node_to_themselves(tool_node: ToolNode) -> None:
    for name in ("gpu-gemm", "nvbandwidth", "gpu_stream", "all_reduce_perf"):
        tool_node.tool(name, 'mkdir "$D/busy" || exit 9; sleep 0.2; rmdir "$D/busy"')

    assert [row["rc"] for row in probe(tool_node, *MEASURED, repeats=2)] == [0] * 8


def test_tools_speak_plain_english(tool_node: ToolNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    tool_node.tool("uname", 'echo "$LC_ALL $LANG"')

    assert stdout(probe(tool_node, "kernel")[0]) == b"C C\n"


def test_tools_get_no_input(tool_node: ToolNode) -> None:
    tool_node.tool("uname", "cat; echo end")

    assert stdout(probe(tool_node, "kernel")[0]) == b"end\n"


def test_check_mode_probes_in_full(tool_node: ToolNode) -> None:
    tool_node.tool("uname", "echo 5.15")

    assert (
        tool_node.run("gpu_probe", check=True, node="a", checks=["kernel"])["probe"]["evidence"][0]["outcome"]
        == "ran"
    )


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"checks": ["magic"]}, "no such evidence: magic"),
        ({"repeats": 0}, "repeats must be"),
        ({"repeats": 51}, "repeats must be"),
        ({"time_limit": 0}, "time_limit above 0"),
        ({"gpu_count": 0}, "gpu_count at least 1"),
        ({"node_root": "/no/such"}, "not a folder"),
    ],
)
def test_nonsense_is_refused(tool_node: ToolNode, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ModuleFailed, match=words):
        tool_node.run("gpu_probe", node="gpu-001", **params)


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
import ansible.module_utils
ansible.module_utils.__path__.append(sys.argv[1] + "/module_utils")
from ansible.module_utils.bounded_run import Runner
Runner(sys.argv[2], 300).evidence("kernel", ["uname"])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_tool_ends_when_the_probe_is_gone(tool_node: ToolNode, number: signal.Signals) -> None:
    tool_node.tool(
        "uname",
        'sleep 300 & echo $! > "$D/child.new"; mv "$D/child.new" "$D/child"; echo $$ > "$D/pid"; wait',
    )
    env = {"PATH": f"{tool_node.bin}:/usr/bin:/bin", "QM_NODE_DIR": str(tool_node.folder)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(ANSIBLE), str(tool_node.root)], env=env
    ) as child:
        try:
            assert soon(
                lambda: (tool_node.folder / "pid").exists() and (tool_node.folder / "pid").read_text()
            )
            pids = [int((tool_node.folder / name).read_text()) for name in ("child", "pid")]
            assert all(alive(pid) for pid in pids)
        finally:
            child.send_signal(number)

    assert soon(lambda: not any(alive(pid) for pid in pids))


def test_tool_ends_when_the_connection_of_the_probe_is_cut(tool_node: ToolNode) -> None:
    """A cut connection sends no signal to what ran over it; only the sshd above it is gone."""
    tool_node.tool("uname", 'echo $$ > "$D/pid.new"; mv "$D/pid.new" "$D/pid"; exec sleep 300')
    server = tool_node.folder / "sshd"
    server.write_text('#!/bin/sh\n"$@" & echo $! > "$QM_NODE_DIR/probe"; wait\n')
    server.chmod(0o755)
    env = {"PATH": f"{tool_node.bin}:/usr/bin:/bin", "QM_NODE_DIR": str(tool_node.folder)}
    words = [str(server), sys.executable, "-c", KILLED, str(ANSIBLE), str(tool_node.root)]
    with subprocess.Popen(words, env=env) as connection:
        try:
            assert soon((tool_node.folder / "pid").exists)
            pids = [int((tool_node.folder / name).read_text()) for name in ("pid", "probe")]
            assert all(alive(pid) for pid in pids)
        finally:
            connection.kill()
    assert soon(lambda: not any(alive(pid) for pid in pids))


# -- over several nodes ---------------------------------------------------------------------------------------------------

HOSTS = [
    {"name": "gpu-001", "address": "10.0.0.1"},
    {"name": "gpu-002", "address": ""},
    {"name": "gpu-003", "address": "fd00::3"},
]


def test_collective_runs_one_process_per_gpu_over_all_hosts(tool_node: ToolNode) -> None:
    tool_node.tool("mpirun", "echo table")
    told = tool_node.run(
        "collective_probe",
        node="gpu-001",
        hosts=HOSTS,
        gpu_count=4,
        min_bytes="64M",
        max_bytes="2G",
        repeats=2,
        simulated=True,
    )
    rows = told["probe"]["evidence"]

    assert [(row["id"], row["run"], row["outcome"], stdout(row)) for row in rows] == [
        ("nccl-all-reduce-cluster", run, "ran", b"table\n") for run in (1, 2)
    ]
    assert tool_node.log[0] == (
        "mpirun --allow-run-as-root -np 12 -H 10.0.0.1:4,gpu-002:4,[fd00::3]:4 --bind-to none -x NCCL_DEBUG=WARN "
        "all_reduce_perf -b 64M -e 2G -f 2 -g 1"
    )
    assert (told["probe"]["schema"], told["probe"]["node"], told["changed"]) == (1, "gpu-001", False)


def test_what_a_collective_starts_on_other_nodes_carries_the_mark_of_its_attempt(
    tool_node: ToolNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher hands over no environment by itself, and a stopped job's ranks are found by their mark."""
    monkeypatch.setenv("QM_ATTEMPT", "j1-1-0badcafe")
    tool_node.tool("mpirun", "echo table")
    tool_node.run("collective_probe", node="gpu-001", hosts=HOSTS, repeats=1)
    assert " -x QM_ATTEMPT all_reduce_perf " in tool_node.log[0]


def test_collective_without_a_launcher_is_not_measured(tool_node: ToolNode) -> None:
    rows = tool_node.run("collective_probe", node="gpu-001", hosts=HOSTS)["probe"]["evidence"]

    assert [(row["outcome"], row["run"]) for row in rows] == [("missing", 1)]


@pytest.mark.parametrize(
    "params",
    [
        {"hosts": []},
        {"hosts": [{"name": "a,b", "address": ""}]},
        {"hosts": [{"name": "-x", "address": ""}]},
        {"hosts": [{"name": "a", "address": "b:8,c"}]},
        {"min_bytes": "-1"},
        {"max_bytes": "8G; id"},
        {"repeats": 0},
        {"gpu_count": 0},
    ],
)
def test_collective_refuses_what_is_no_host_or_size(tool_node: ToolNode, params: dict[str, Any]) -> None:
    tool_node.tool("mpirun")
    with pytest.raises(ModuleFailed):
        tool_node.run("collective_probe", **{"node": "gpu-001", "hosts": HOSTS, **params})
    assert tool_node.log == []


@pytest.mark.parametrize("name", ["gpu_probe", "collective_probe"])
def test_documentation_names_every_argument(name: str) -> None:
    tree = ast.parse((ANSIBLE / "library" / f"{name}.py").read_text())
    documented = next(
        yaml.safe_load(node.value.value)["options"]
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and "DOCUMENTATION" in ast.dump(node.targets[0])
    )
    spec = next(
        keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "argument_spec" and isinstance(keyword.value, ast.Dict)
    )

    assert {key.value for key in spec.keys if isinstance(key, ast.Constant)} == set(documented)


@pytest.mark.parametrize(
    "path", ["library/gpu_probe.py", "library/collective_probe.py", "module_utils/bounded_run.py"]
)
def test_what_runs_on_nodes_is_python_3_8(path: str) -> None:
    ast.parse((ANSIBLE / path).read_text(), feature_version=(3, 8))
