"""How much can a machine do at once? Slots for jobs, and forks for each job; pure.

Sources of the figures: an `ansible-playbook` fork takes 25 to 50 MB and one core drives about four of them while they
compute (the rule of AWX's capacity model); a fork that waits for its node costs memory alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FORK_MIB = 50
"""Memory of a fork, the upper of what is measured."""
FORKS_PER_CORE = 4
SLOT_MIB = 400
"""Memory of a slot: its worker's process, the `ansible-playbook` above its forks, and a few of these."""
SLOTS_PER_CORE = 2
SLOTS_WISHED = 3
"""With so many one can be kept for jobs that unblock a team."""
KEPT_MIB = 256
"""Memory that is left to everything else on the machine."""
MOST_FORKS = 500
"""More than one `ansible-playbook` can feed."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What processes here may use: whole cores, and MiB of memory in all and free now."""

    cores: int
    memory_mib: int
    free_mib: int


class Limit(StrEnum):
    """What kept the number of forks where it is."""

    HOSTS = "hosts"
    SETTING = "setting"
    CORES = "cores"
    MEMORY = "memory"


@dataclass(frozen=True, kw_only=True)
class Forks:
    """How many nodes an attempt talks to at once, and what kept it from more."""

    number: int
    limit: Limit


def slots_for(machine: Machine) -> int:
    """How many jobs should run at once here, where nobody has said it. At least one."""
    by_cores = max(SLOTS_WISHED, SLOTS_PER_CORE * machine.cores)
    by_memory = (machine.memory_mib - KEPT_MIB) // SLOT_MIB
    return max(1, min(by_cores, by_memory))


def fork_room(machine: Machine, *, waits: bool = False) -> int:
    """Forks that the whole machine bears. `waits`: they only wait for their nodes, so cores don't count."""
    by_memory = max(1, (machine.memory_mib - KEPT_MIB) // FORK_MIB)
    return min(by_memory, MOST_FORKS if waits else max(1, FORKS_PER_CORE * machine.cores))


def forks_for(
    *, hosts: int, machine: Machine, slots: int, taken: int, most: int | None = None, waits: bool = False
) -> Forks:
    """Forks of one attempt: min(hosts, setting, what is left here), and no more than free memory bears.

    `taken` are the forks of the machine's other attempts. What they leave is this one's, but every slot has its even share
    however much they took, so that the last to come is not starved. `most` None: no setting.
    """
    room = fork_room(machine, waits=waits)
    left = max(room - taken, room // max(1, slots), 1)
    by_memory = max(1, (machine.free_mib - KEPT_MIB) // FORK_MIB)
    limits = {
        Limit.HOSTS: max(1, hosts),
        Limit.SETTING: MOST_FORKS if most is None else max(1, most),
        Limit.CORES: left,
        Limit.MEMORY: by_memory,
    }
    tightest = min(limits, key=lambda limit: limits[limit])
    return Forks(number=limits[tightest], limit=tightest)
