"""Are fleets made whole, the same for the same seed, and never over somebody's node?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from provisioning.simulator import faults, figures, fleet, node, skus
from tests.provisioning.simulator.conftest import CREATED, SimNode, make

SPEED = ("gemm_bf16", "mem_bw", "h2d_bw", "nccl_busbw")


def test_create_makes_one_folder_per_node(tmp_path: Path) -> None:
    made = fleet.create(tmp_path, count=3, sku="h100-sxm5-80g", seed=7, prefix="b-", start=9)

    assert [folder.name for folder in made] == ["b-009", "b-010", "b-011"]
    assert all(
        (folder / part).exists()
        for folder in made
        for part in ("state.json", "root/etc/passwd", "bin/nvidia-smi")
    )
    assert fleet.node_dirs(tmp_path) == made


def test_create_repeats_itself_with_the_same_seed(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", 2), make(tmp_path / "two", 2)

    assert [json.dumps(item.state, sort_keys=True) for item in one] == [
        json.dumps(item.state, sort_keys=True) for item in two
    ]
    assert one[0].run("gpu-gemm").out == two[0].run("gpu-gemm").out
    assert one[1].run("nvidia-smi -L").out == two[1].run("nvidia-smi -L").out


def test_create_makes_another_fleet_with_another_seed(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one")[0], make(tmp_path / "two", seed=8)[0]

    assert {gpu["uuid"] for gpu in one.state["gpus"]}.isdisjoint(gpu["uuid"] for gpu in two.state["gpus"])
    assert figures.standing(one.state, "gemm_bf16", 0) != figures.standing(two.state, "gemm_bf16", 0)


def test_create_refuses_a_folder_that_is_a_node_already(sim: SimNode) -> None:
    before = sim.state

    with pytest.raises(FileExistsError, match="gpu-001"):
        fleet.create(sim.folder.parent, count=1, sku="h100-sxm5-80g", seed=99)
    assert sim.state == before


@pytest.mark.parametrize("prefix", ["GPU", "../x", "a b", "-a", "x\n", "a/b"])
def test_create_refuses_names_that_are_no_host_names(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ValueError, match="host name"):
        fleet.create(tmp_path, count=1, sku="h100-sxm5-80g", seed=1, prefix=prefix)
    assert fleet.node_dirs(tmp_path) == []


@pytest.mark.parametrize(("count", "start"), [(0, 1), (-1, 1), (1, 0)])
def test_create_refuses_counts_that_make_nothing(tmp_path: Path, count: int, start: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        fleet.create(tmp_path, count=count, sku="h100-sxm5-80g", seed=1, start=start)


def test_create_names_the_skus_there_are(tmp_path: Path) -> None:
    with pytest.raises(skus.UnknownSku, match="h100-sxm5-80g"):
        fleet.create(tmp_path, count=1, sku="../h100-sxm5-80g", seed=1)


def test_remove_takes_only_nodes(sim: SimNode, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()

    with pytest.raises(node.NotANode):
        fleet.remove(tmp_path / "precious")
    fleet.remove(sim.folder)

    assert (tmp_path / "precious").is_dir()
    assert not sim.folder.exists()


def test_addresses_and_racks_follow_the_number(tmp_path: Path) -> None:
    made = [
        node.read_state(folder)
        for folder in fleet.create(tmp_path, count=5, sku="h100-sxm5-80g", seed=1, start=248)
    ]

    assert [state["address"] for state in made] == [
        "10.77.0.249",
        "10.77.0.250",
        "10.77.1.1",
        "10.77.1.2",
        "10.77.1.3",
    ]
    assert [state["rack"] for state in made] == ["r62", "r63", "r63", "r63", "r63"]


def test_healthy_gpus_lie_close_together() -> None:
    data = skus.load("h100-sxm5-80g")
    for metric in SPEED:
        stands = []
        for name in (f"gpu-{number:03d}" for number in range(64)):
            state = {"seed": 3, "name": name, "sku": data, "faults": {}}
            stands += [figures.standing(state, metric, slot) for slot in range(8)]
        mean = sum(stands) / len(stands)
        spread = (sum((stand - mean) ** 2 for stand in stands) / len(stands)) ** 0.5
        assert 0.004 < spread < 0.010
        assert min(stands) > 0.97
        assert abs(mean - 1.0) < 0.002


def test_repeats_of_one_gpu_differ_a_little() -> None:
    state = {"seed": 3, "name": "gpu-001", "sku": skus.load("h100-sxm5-80g"), "faults": {}}
    values = [figures.measured(state, "gemm_bf16", run, 0) or 0.0 for run in range(200)]

    assert len(set(values)) == 200
    assert 0.004 < (max(values) - min(values)) / values[0] < 0.016


@pytest.mark.parametrize("slug", skus.known())
def test_every_sku_shows_its_own_hardware(tmp_path: Path, slug: str) -> None:
    sku = skus.load(slug)
    sim = make(tmp_path, sku=slug)[0]

    named = sim.run(
        "nvidia-smi --query-gpu=name,memory.total,driver_version,pcie.link.width.max --format=csv,noheader,nounits"
    ).out
    links = sim.run("nvidia-smi nvlink -s").out
    vbios = sim.run("nvidia-smi --query-gpu=vbios_version --format=csv,noheader").out.split()
    ports = sim.run("ibstat").out

    row = f"{sku['gpu_model']}, {sku['memory_mib']}, {sku['driver']}, {sku['pcie']['width']}"
    assert named.splitlines() == [row] * sku["gpu_count"]
    assert (
        links.count(f": {sku['nvlink']['gbps_per_link']:g} GB/s") == sku["nvlink"]["links"] * sku["gpu_count"]
    )
    assert ports.count(f"Rate: {sku['nics']['rate_gbps']}\n") == sku["nics"]["count"]
    assert re.fullmatch(sku["vbios"] or r"9\d\.00\.[0-9A-F]{2}\.00\.\d\d", vbios[0])
    assert sim.state["created_at"] == CREATED


@pytest.mark.parametrize("slug", skus.known())
def test_every_sku_measures_what_its_file_promises(tmp_path: Path, slug: str) -> None:
    state = make(tmp_path, sku=slug)[0].state

    for metric in faults.ALL_FIGURES:
        value, promised = figures.measured(state, metric, 1), skus.expected_value(state["sku"], metric)
        assert value is not None, metric
        assert promised is None or value == pytest.approx(promised, rel=0.02), metric
