"""Do the playbooks take a simulated node through its whole life: provision, join, validate, drain, wipe?

The life is lived once per session, in order; each test looks at what one step of it left behind.
"""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass
from typing import Any

import pytest

from provisioning.simulator import node
from tests.ansible.simulated import JOB, PROVISION, WIPE, Fleet, Outcome, unsafe
from tests.ansible.test_node_account import key

pytestmark = [pytest.mark.ansible, pytest.mark.xdist_group("simulated-life")]

HOSTS = [{"name": "gpu-001", "address": "10.0.0.1"}, {"name": "gpu-002", "address": "10.0.0.2"}]
JOIN = {"cluster_name": "vision-a", "cluster_hosts": HOSTS, "partition": "vision"}
LAST = ("gpu-002",)
REASON = "{{ lookup('pipe','touch PWNED') }} and\na second line"


@dataclass
class Life:
    """Every run, and what the nodes looked like between them."""

    fleet: Fleet
    runs: dict[str, Outcome]
    seen: dict[str, Any]


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    fleet = Fleet.made_in(tmp_path_factory.mktemp("life"))
    runs: dict[str, Outcome] = {}
    seen: dict[str, Any] = {"before": fleet.fingerprint("gpu-002")}

    def run(
        step: str,
        playbook: str,
        variables: dict[str, Any],
        *options: str,
        on: tuple[str, ...] = ("gpu-001", "gpu-002"),
    ) -> None:
        """Every task costs seconds, so a step runs on no more nodes than its test needs."""
        hosts = {name: fleet.host(name) for name in on}
        runs[step] = fleet.run(playbook, {**JOB, **unsafe(variables)}, *options, hosts=hosts)

    run("check", "provision_node", PROVISION, "--check", "--diff", on=LAST)
    seen["checked"] = fleet.fingerprint("gpu-002")
    run("provision", "provision_node", PROVISION, on=LAST)
    seen["provisioned"] = _look(fleet)
    run("provision again", "provision_node", PROVISION, on=LAST)
    run("join", "join_cluster", JOIN)
    run("join again", "join_cluster", JOIN, on=LAST)
    seen["joined"] = _look(fleet)
    run(
        "validate",
        "validate_node",
        {"probe_repeats": 1, "probe_checks": ["kernel", "nvidia-smi-xml", "mounts", "gemm"]},
    )
    run("validate cluster", "validate_cluster", {"cluster_hosts": HOSTS, "collective_repeats": 1})
    _set_jobs(fleet, "gpu-002", 1)
    run("drain under a job", "drain_node", {"reason": REASON, "drain_time_limit": 2, "drain_every": 0.5})
    run("wipe under a job", "wipe_node", WIPE, on=LAST)
    _set_jobs(fleet, "gpu-002", 0)
    run("drain", "drain_node", {"reason": REASON}, on=LAST)
    seen["drained"] = _look(fleet)
    (fleet.root("gpu-002") / "scratch/left-behind.bin").write_text("x")
    (fleet.root("gpu-002") / "home/grace/left-behind.txt").write_text("x")
    run("wipe", "wipe_node", WIPE, on=LAST)
    seen["wiped"] = _look(fleet)
    run("wipe again", "wipe_node", WIPE, on=LAST)
    return Life(fleet, runs, seen)


def _set_jobs(fleet: Fleet, name: str, jobs: int) -> None:
    node.update(fleet.folder / "fleet" / name, lambda state: state["slurm"].update(jobs=jobs))


def _look(fleet: Fleet) -> dict[str, Any]:
    """What the second node looks like now."""
    root, state = fleet.root("gpu-002"), fleet.state("gpu-002")
    texts = {
        str(path.relative_to(root)): path.read_text() for path in (root / "etc").rglob("*") if path.is_file()
    }
    homes = {
        str(path.relative_to(root)): path.read_text() for path in (root / "home").rglob("*") if path.is_file()
    }
    return {
        "etc": texts,
        "home": homes,
        "state": state,
        "home_modes": [path.stat().st_mode & 0o777 for path in (root / "home").iterdir()],
    }


def _decoded(evidence: dict[str, Any]) -> str:
    return gzip.decompress(base64.b64decode(evidence["stdout"])).decode()


@pytest.mark.parametrize(
    "step",
    [
        "check",
        "provision",
        "provision again",
        "join",
        "join again",
        "validate",
        "validate cluster",
        "drain",
        "wipe",
        "wipe again",
    ],
)
def test_step_ends_well(life: Life, step: str) -> None:
    run = life.runs[step]
    assert run.code == 0, run.text
    assert run.rows


@pytest.mark.parametrize("step", ["provision again", "join again", "wipe again"])
def test_second_run_changes_nothing(life: Life, step: str) -> None:
    assert [row for row in life.runs[step].rows if row["outcome"] == "changed"] == []


def test_check_mode_tells_much_and_changes_nothing(life: Life) -> None:
    assert len(life.runs["check"].of("gpu-002", "changed")) > 10
    assert life.seen["checked"] == life.seen["before"]


def test_driver_and_fabric_manager_are_pinned_to_one_version(life: Life) -> None:
    state = life.seen["provisioned"]["state"]
    version = state["sku"]["driver"]
    branch = version.split(".")[0]
    for name in (f"nvidia-driver-{branch}-server", f"nvidia-fabricmanager-{branch}"):
        assert state["packages"][name]["version"].startswith(version)
        assert state["packages"][name]["hold"] is True
    for unit in (
        "nvidia-fabricmanager",
        "nvidia-persistenced",
        "containerd",
        "chrony",
        "prometheus-node-exporter",
        "dcgm-exporter",
    ):
        assert (state["services"][unit]["active"], state["services"][unit]["enabled"]) == ("active", True), (
            unit
        )


def test_containers_get_gpus(life: Life) -> None:
    assert "nvidia-container-runtime" in life.seen["provisioned"]["etc"]["etc/containerd/config.toml"]


def test_team_has_exactly_its_accounts_and_keys(life: Life) -> None:
    seen = life.seen["provisioned"]
    assert seen["home"]["home/ada/.ssh/authorized_keys"] == f"{key(1, 'ada@laptop')}\n"
    assert seen["home"]["home/grace/.ssh/authorized_keys"] == f"{key(2)}\n{key(3)}\n"
    assert seen["home_modes"] == [0o700, 0o700, 0o700]
    assert seen["home"]["home/newcomer/.ssh/authorized_keys"] == ""
    assert "grace:x:20007:" in seen["etc"]["etc/passwd"]


def test_storage_is_mounted_now_and_after_a_boot(life: Life) -> None:
    seen = life.seen["provisioned"]
    assert [mount["source"] for mount in seen["state"]["mounts"] if mount["target"] == "/data"] == [
        "nas1:/export/vision"
    ]
    assert "nas1:/export/vision /data nfs4 rw,hard,nosuid,nodev 0 0\n" in seen["etc"]["etc/fstab"]


def test_kernel_is_set_up_for_large_jobs(life: Life) -> None:
    seen = life.seen["provisioned"]
    assert seen["state"]["sysctl"]["kernel.numa_balancing"] == "0"
    assert {"ib_umad", "nvidia_peermem"} <= set(seen["state"]["modules"])
    assert "memlock unlimited" in seen["etc"]["etc/security/limits.d/91-quartermaster-memlock.conf"]


def test_message_of_the_day_names_node_team_and_cluster(life: Life) -> None:
    assert (
        "gpu-002 (simulated) - 8 GPUs, h100-sxm5-80g\n  team vision, cluster C-17\n"
        in life.seen["provisioned"]["etc"]["etc/motd"]
    )


def test_portal_is_told_the_versions(life: Life) -> None:
    report = life.runs["provision"].result("gpu-002", "Report")["report"]
    state = life.seen["provisioned"]["state"]
    assert report["driver"] == state["sku"]["driver"]
    assert report["kernel"] == state["kernel"]["running"]
    assert report["container_runtime"] == state["packages"]["containerd"]["version"]
    assert report["fabric_manager"].startswith(state["sku"]["driver"])


def test_cluster_is_known_to_the_node_and_to_slurm(life: Life) -> None:
    seen = life.seen["joined"]
    assert "10.0.0.1 gpu-001\n10.0.0.2 gpu-002\n" in seen["etc"]["etc/hosts"]
    assert "PartitionName=vision Nodes=gpu-001,gpu-002 " in seen["etc"]["etc/slurm/quartermaster.conf"]
    assert "include /etc/slurm/quartermaster.conf\n" in seen["etc"]["etc/slurm/slurm.conf"]
    assert (seen["state"]["slurm"]["state"], seen["state"]["slurm"]["drain"]) == ("IDLE", False)


def test_probe_brings_the_evidence_of_each_node(life: Life) -> None:
    for name in ("gpu-001", "gpu-002"):
        probe = life.runs["validate"].result(name, "Probe the node")["probe"]
        found = {item["id"]: item for item in probe["evidence"]}
        assert (probe["node"], probe["simulated"]) == (name, True)
        assert set(found) == {"kernel", "nvidia-smi-xml", "mounts", "gemm"}
        assert {item["outcome"] for item in found.values()} == {"ran"}
        assert _decoded(found["gemm"]).count("gpu_index=") == 8


def test_collective_is_measured_from_the_first_node_only(life: Life) -> None:
    run = life.runs["validate cluster"]
    evidence = run.result("gpu-001", "Measure the collective")["probe"]["evidence"]
    assert {item["id"] for item in evidence} == {"nccl-all-reduce-cluster"}
    assert "Measure the collective" in run.of("gpu-002", "skipped")


def test_drain_waits_for_the_job_and_says_so(life: Life) -> None:
    run = life.runs["drain under a job"]
    assert "still runs one after 2 s" in run.failure("gpu-002")
    assert run.failure("gpu-001") == ""


def test_wipe_is_refused_while_a_job_runs(life: Life) -> None:
    run = life.runs["wipe under a job"]
    assert "runs a job" in run.failure("gpu-002")
    assert run.of("gpu-002", "changed") == []


def test_reason_of_a_drain_is_text(life: Life) -> None:
    assert (
        life.seen["drained"]["state"]["slurm"]["reason"]
        == "{{ lookup('pipe','touch PWNED') }} and a second line"
    )
    assert list(life.fleet.folder.rglob("PWNED")) == []


def test_wipe_leaves_nothing_of_the_team(life: Life) -> None:
    seen, root = life.seen["wiped"], life.fleet.root("gpu-002")
    assert seen["home"] == {}
    assert list((root / "home").iterdir()) == []
    assert list((root / "scratch").iterdir()) == []
    assert seen["state"]["slurm"] is None
    assert "/data" not in {mount["target"] for mount in seen["state"]["mounts"]}
    words = "\n".join(f"{name}\n{text}" for name, text in seen["etc"].items())
    for word in ("vision", "ada", "grace", "10.0.0.1", "nas1"):
        assert word not in words, word
    assert seen["state"]["services"]["slurmd"]["active"] == "inactive"
