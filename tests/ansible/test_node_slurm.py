"""Does node_slurm join, drain and wait as Slurm's own words tell it to?"""

from __future__ import annotations

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode

SHOW = """NodeName=gpu-001 Arch=x86_64 CoresPerSocket=48
   CPUAlloc={cpus} CPUEfctv=192 CPUTot=192 CPULoad=0.27
   State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
"""


@pytest.fixture
def slurm_node(tool_node: ToolNode) -> ToolNode:
    tool_node.tool(
        "scontrol",
        """
if [ "$1" = show ]; then
  n=$(cat "$D/looks" 2>/dev/null || echo 0); echo $((n + 1)) > "$D/looks"
  [ -f "$D/busy_until" ] && [ "$n" -ge "$(cat "$D/busy_until")" ] && cat "$D/after" || cat "$D/show"
else
  [ "$1" = create ] && { [ -f "$D/static" ] && { echo "Unexpected: dynamic nodes are off" >&2; exit 1; }; cp "$D/new" "$D/show"; }
  [ "$1" = delete ] && { [ -f "$D/static" ] && { echo "slurm_delete_node: static" >&2; exit 1; }; echo "Node $2 not found" > "$D/show"; }
  case $3 in State=RESUME) sed -i 's/State=[^ ]*/State=IDLE/' "$D/show" ;; State=DRAIN) sed -i 's/State=IDLE/State=IDLE+DRAIN/' "$D/show" ;; esac
fi""",
    )
    return tool_node


def shows(node: ToolNode, state: str, cpus: int = 0) -> None:
    (node.folder / "show").write_text(SHOW.format(state=state, cpus=cpus))


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN*", "DOWN+DRAIN", "IDLE+DRAINED"])
def test_closed_node_is_resumed(slurm_node: ToolNode, state: str) -> None:
    shows(slurm_node, state)

    assert slurm_node.run("node_slurm", name="gpu-001", state="joined", wait=1)["slurm"] == "IDLE"
    assert "scontrol update NodeName=gpu-001 State=RESUME" in slurm_node.log


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED", "IDLE~"])
def test_open_node_is_left_alone(slurm_node: ToolNode, state: str) -> None:
    shows(slurm_node, state)

    assert slurm_node.run("node_slurm", name="gpu-001", state="joined")["changed"] is False


def test_drain_waits_until_the_last_job_ended(slurm_node: ToolNode) -> None:
    shows(slurm_node, "MIXED+DRAIN", cpus=16)
    (slurm_node.folder / "after").write_text(SHOW.format(state="IDLE+DRAIN", cpus=0))
    (slurm_node.folder / "busy_until").write_text("3")

    result = slurm_node.run("node_slurm", name="gpu-001", state="drained", reason="r", wait=20, every=0.1)

    assert result["slurm"] == "DRAIN+IDLE"
    assert result["waited"] >= 0.1


def test_drain_gives_up_and_says_what_to_do(slurm_node: ToolNode) -> None:
    shows(slurm_node, "ALLOCATED+DRAIN", cpus=192)

    with pytest.raises(
        ModuleFailed, match=r"takes no new job, but still runs one after 1 s.*squeue -w gpu-001"
    ):
        slurm_node.run("node_slurm", name="gpu-001", state="drained", reason="r", wait=1, every=0.2)


def test_reason_reaches_slurm_as_one_printable_line(slurm_node: ToolNode) -> None:
    shows(slurm_node, "IDLE")

    slurm_node.run(
        "node_slurm",
        name="gpu-001",
        state="drained",
        reason="{{ lookup('pipe','id') }}; $(id)\nState=IDLE\0\u202e",
        wait=1,
    )

    update = next(line for line in slurm_node.log if "update" in line)
    assert (
        update
        == "scontrol update NodeName=gpu-001 State=DRAIN Reason={{ lookup('pipe','id') }}; $(id) State=IDLE"
    )


def test_drained_node_is_left_alone(slurm_node: ToolNode) -> None:
    shows(slurm_node, "IDLE+DRAIN")

    assert slurm_node.run("node_slurm", name="gpu-001", state="drained", reason="r")["changed"] is False


def test_leaving_is_refused_under_a_job_unless_forced(slurm_node: ToolNode) -> None:
    shows(slurm_node, "MIXED+DRAIN", cpus=8)

    with pytest.raises(ModuleFailed, match=r"runs a job .*8 CPUs.*wipe_force"):
        slurm_node.run("node_slurm", name="gpu-001", state="left")
    assert slurm_node.run("node_slurm", name="gpu-001", state="left", force=True)["slurm"] is None


def test_job_that_only_squeue_knows_counts(slurm_node: ToolNode) -> None:
    shows(slurm_node, "IDLE+DRAIN")
    slurm_node.tool("squeue", 'echo "  4242 gpu train ada R 1:00 1 gpu-001"')

    with pytest.raises(ModuleFailed, match=r"still runs one after 1 s \(4242\)"):
        slurm_node.run("node_slurm", name="gpu-001", state="drained", reason="r", wait=1, every=0.2)


def test_node_the_site_s_file_names_stays_drained(slurm_node: ToolNode) -> None:
    shows(slurm_node, "IDLE")
    (slurm_node.folder / "static").touch()

    assert slurm_node.run("node_slurm", name="gpu-001", state="left")["slurm"] == "DRAIN+IDLE"
    assert slurm_node.run("node_slurm", name="gpu-001", state="left")["changed"] is False


def test_node_the_controller_doesn_t_know_is_announced(slurm_node: ToolNode) -> None:
    (slurm_node.folder / "show").write_text("Node gpu-001 not found\n")
    (slurm_node.folder / "new").write_text(SHOW.format(state="FUTURE", cpus=0))

    result = slurm_node.run("node_slurm", name="gpu-001", state="joined", address="10.0.0.1", gpus=8, wait=1)

    assert result["slurm"] == "IDLE"
    assert "scontrol create NodeName=gpu-001 NodeAddr=10.0.0.1 State=FUTURE Gres=gpu:8" in slurm_node.log


def test_node_without_slurm_has_nothing_to_drain(tool_node: ToolNode) -> None:
    assert tool_node.run("node_slurm", name="gpu-001", state="drained", reason="r")["slurm"] is None


def test_controller_that_takes_no_new_node_is_told(slurm_node: ToolNode) -> None:
    (slurm_node.folder / "show").write_text("Node gpu-001 not found\n")
    (slurm_node.folder / "static").touch()

    with pytest.raises(
        ModuleFailed,
        match=r"Slurm doesn't know node gpu-001 and takes no new one \(Unexpected: dynamic nodes are off\)",
    ):
        slurm_node.run("node_slurm", name="gpu-001", state="joined")


@pytest.mark.parametrize("name", ["ALL", "gpu[001-999]", "gpu-001,gpu-002", "-x", "gpu 1", ""])
def test_name_that_means_more_than_one_node_is_refused(tool_node: ToolNode, name: str) -> None:
    with pytest.raises(ModuleFailed, match="is no host name"):
        tool_node.run("node_slurm", name=name, state="drained", reason="r")
