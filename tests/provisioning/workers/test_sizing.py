"""Slots and forks follow from memory and cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.workers.machine import this_machine
from provisioning.workers.sizing import (
    FORK_MIB,
    FORKS_PER_CORE,
    KEPT_MIB,
    Limit,
    Machine,
    fork_room,
    forks_for,
    slots_for,
)

WORKER = Machine(cores=4, memory_mib=8192, free_mib=6000)
MACHINES = st.builds(
    lambda cores, memory, share: Machine(cores=cores, memory_mib=memory, free_mib=int(memory * share)),
    st.integers(1, 128),
    st.integers(64, 2**20),
    st.floats(0, 1),
)


def test_worker_of_four_cores_and_8_gib_takes_16_forks_that_compute_and_above_100_that_wait() -> None:
    assert fork_room(WORKER) == 16
    assert fork_room(WORKER, waits=True) == (8192 - KEPT_MIB) // FORK_MIB == 158


@pytest.mark.parametrize(
    ("told", "number", "limit"),
    [
        ({"hosts": 3}, 3, Limit.HOSTS),
        ({"hosts": 100}, 16, Limit.CORES),
        ({"hosts": 100, "most": 10}, 10, Limit.SETTING),
        ({"hosts": 100, "taken": 12}, 5, Limit.CORES),
        ({"hosts": 100, "waits": True}, 100, Limit.HOSTS),
        ({"hosts": 200, "waits": True}, (6000 - KEPT_MIB) // FORK_MIB, Limit.MEMORY),
    ],
)
def test_forks_are_hosts_or_what_is_left_of_the_machine(
    told: dict[str, int], number: int, limit: Limit
) -> None:
    found = forks_for(**{"machine": WORKER, "slots": 3, "taken": 0, **told})  # type: ignore[arg-type]
    assert (found.number, found.limit) == (number, limit)


@given(
    machine=MACHINES,
    hosts=st.integers(0, 5000),
    slots=st.integers(1, 64),
    taken=st.integers(0, 5000),
    most=st.none() | st.integers(1, 500),
    waits=st.booleans(),
)
def test_forks_never_exceed_any_limit_and_nobody_is_starved(
    machine: Machine, hosts: int, slots: int, taken: int, most: int | None, waits: bool
) -> None:
    found = forks_for(hosts=hosts, machine=machine, slots=slots, taken=taken, most=most, waits=waits).number
    assert 1 <= found <= max(1, hosts)
    assert found <= (most or found)
    assert found == 1 or found * FORK_MIB + KEPT_MIB <= machine.free_mib
    assert waits or found <= FORKS_PER_CORE * machine.cores


@given(machine=MACHINES, jobs=st.integers(1, 20))
def test_jobs_that_fill_all_slots_overtax_the_cores_by_less_than_as_much_again(
    machine: Machine, jobs: int
) -> None:
    taken = 0
    for _ in range(jobs):
        taken += forks_for(hosts=10_000, machine=machine, slots=jobs, taken=taken).number
    assert taken <= 2 * fork_room(machine) + jobs


@given(MACHINES)
def test_slots_fit_into_memory_and_there_is_always_one(machine: Machine) -> None:
    slots = slots_for(machine)
    assert slots == 1 or slots * 400 + KEPT_MIB <= machine.memory_mib
    assert 1 <= slots <= max(3, 2 * machine.cores)


def test_small_machine_has_three_slots_so_that_one_can_be_kept() -> None:
    assert slots_for(Machine(cores=1, memory_mib=2048, free_mib=1000)) == 3
    assert slots_for(Machine(cores=16, memory_mib=1024, free_mib=1000)) == 1


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine_files(tmp_path: Path) -> Path:
    write(
        tmp_path,
        proc__meminfo="MemTotal:       8388608 kB\nMemFree:  1 kB\nMemAvailable:   4194304 kB\n",
        proc__self__cgroup="0::/portal/worker\n",
    )
    return tmp_path


def test_machine_without_limits_has_what_the_kernel_tells(machine_files: Path) -> None:
    found = this_machine(machine_files)
    assert (found.memory_mib, found.free_mib) == (8192, 4096)
    assert found.cores >= 1


def test_limit_of_a_group_above_counts_and_its_file_cache_does_not(machine_files: Path) -> None:
    group = machine_files / "sys/fs/cgroup/portal"
    (group / "worker").mkdir(parents=True)
    (group / "memory.max").write_text(f"{2048 * 2**20}\n")
    (group / "memory.current").write_text(f"{1536 * 2**20}\n")
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {512 * 2**20}\n")
    (group / "cpu.max").write_text("100000 100000\n")
    (group / "worker" / "memory.max").write_text("max\n")
    (group / "worker" / "cpu.max").write_text("max 100000\n")
    assert this_machine(machine_files) == Machine(cores=1, memory_mib=2048, free_mib=1024)


def test_machine_that_tells_nothing_still_has_something(tmp_path: Path) -> None:
    found = this_machine(tmp_path)
    assert found.cores >= 1
    assert found.memory_mib > 0
