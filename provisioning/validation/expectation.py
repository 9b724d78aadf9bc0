"""What was this node promised to have, beyond what its SKU says?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from provisioning.fleet.sku_data import Sku
from provisioning.validation.baselines import Reference
from provisioning.validation.policy import DEFAULT_POLICY, Policy
from provisioning.validation.readings import Gathered


@dataclass(frozen=True, kw_only=True)
class ExpectedMount:
    """A file system that must be mounted; an empty source or fstype is not compared."""

    path: str
    source: str = ""
    fstype: str = ""
    read_write: bool = True


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Empty or None means: what the SKU says. `compute_ports` names the ports of the compute network (mlx5_0/1).

    `cooling` is the cooling class of the rack (air, liquid): nodes are compared within it.
    """

    profile: str = "delivery"
    gpu_count: int | None = None
    driver: str = ""
    vbios: str = ""
    kernel: str = ""
    nic_count: int | None = None
    compute_ports: tuple[str, ...] = ()
    mounts: tuple[ExpectedMount, ...] = ()
    fabric_manager: bool | None = None
    cooling: str = ""


@dataclass(frozen=True)
class Context:
    """Everything a check may look at."""

    gathered: Gathered
    sku: Sku
    expectation: Expectation = field(default_factory=Expectation)
    policy: Policy = DEFAULT_POLICY
    references: Mapping[str, Reference] = field(default_factory=dict)

    @property
    def gpu_count(self) -> int:
        asked = self.expectation.gpu_count
        return self.sku.gpu_count if asked is None else asked

    @property
    def nic_count(self) -> int:
        asked = self.expectation.nic_count
        return self.sku.nics.count if asked is None else asked

    @property
    def wants_fabric_manager(self) -> bool:
        asked = self.expectation.fabric_manager
        return self.sku.nvswitch if asked is None else asked

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs there should be: gpu:0 and on."""
        return tuple(f"gpu:{index}" for index in range(self.gpu_count))

    def silence(self, *evidence: str) -> str:
        """Why nothing is known, in words: the first of the tools that was asked and did not answer."""
        for one in evidence:
            if one in self.gathered.silent:
                return self.gathered.silent[one]
        asked = [one for one in evidence if self.gathered.probe.of(one)]
        return f"{asked[0]} answered, and not about it" if asked else f"{' or '.join(evidence)} was not asked"
