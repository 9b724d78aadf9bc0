"""What do all tools of one probe say together, about which GPU, and which of them said nothing?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from provisioning.validation.evidence import Evidence, Outcome, Probe
from provisioning.validation.parsers import (
    chronyc,
    dcgmi_diag,
    dcgmi_health,
    fabric_manager,
    gemm,
    gpu_burn,
    gpu_stream,
    hpl,
    ib_sysfs,
    ibstat,
    kernel_log,
    lspci,
    mounts,
    nccl_tests,
    nvbandwidth,
    nvidia_smi_xml,
    nvlink,
    perftest,
    smartctl,
)
from provisioning.validation.parsers.parsed import Parsed, lines_of, measured, parsed
from provisioning.validation.reading import NODE, Reading, ReadingSet

Parser = Callable[..., Parsed]


def _kernel(raw: bytes, *, run: int = 1) -> Parsed:
    """`uname -r`: one word."""
    words = lines_of(raw)[0].split()
    if len(words) != 1:
        return parsed((), ["uname -r gave no version"])
    return parsed([measured("kernel_version", NODE, words[0][:100], source="kernel", run=run)])


PARSERS: Mapping[str, Parser] = MappingProxyType(
    {
        nvidia_smi_xml.ID: nvidia_smi_xml.parse,
        nvlink.ID: nvlink.parse,
        lspci.ID: lspci.parse,
        kernel_log.ID: kernel_log.parse,
        ibstat.ID: ibstat.parse,
        ib_sysfs.ID: ib_sysfs.parse,
        chronyc.ID: chronyc.parse,
        mounts.ID: mounts.parse,
        "kernel": _kernel,
        fabric_manager.ID: fabric_manager.parse,
        fabric_manager.LOG_ID: fabric_manager.parse_log,
        dcgmi_diag.ID: dcgmi_diag.parse,
        dcgmi_health.ID: dcgmi_health.parse,
        gemm.ID: gemm.parse,
        nvbandwidth.ID: nvbandwidth.parse,
        gpu_stream.ID: gpu_stream.parse,
        nccl_tests.ID: nccl_tests.parse,
        nccl_tests.CLUSTER_ID: partial(
            nccl_tests.parse, metric="cluster_busbw", source=nccl_tests.CLUSTER_ID
        ),
        perftest.ID: perftest.parse,
        gpu_burn.ID: gpu_burn.parse,
        hpl.ID: hpl.parse,
        smartctl.ID: smartctl.parse,
    }
)
"""Evidence id to the parser of its tool."""


@dataclass(frozen=True)
class Gathered:
    """A probe as readings. `silent` tells, for evidence that gave none, why in a sentence."""

    probe: Probe
    readings: ReadingSet
    silent: Mapping[str, str]
    problems: tuple[str, ...]


def gather(probe: Probe) -> Gathered:
    """Run every parser over its evidence. Evidence that nobody parses is named as a problem, not dropped."""
    readings: list[Reading] = []
    problems = list(probe.problems)
    silent: dict[str, str] = {}
    for evidence in probe.evidence:
        found = _one(evidence)
        readings.extend(found.readings)
        problems.extend(f"{evidence.id}#{evidence.run}: {problem}" for problem in found.problems)
        if not found.readings:
            silent[evidence.id] = _why(evidence, found)
    spoken = {reading.source for reading in readings}
    return Gathered(
        probe=probe,
        readings=ReadingSet(_by_gpu(readings)),
        silent=MappingProxyType({key: why for key, why in sorted(silent.items()) if key not in spoken}),
        problems=tuple(sorted(set(problems))),
    )


def _one(evidence: Evidence) -> Parsed:
    parser = PARSERS.get(evidence.id)
    if parser is None:
        return parsed((), ["no parser knows this evidence"])
    if evidence.outcome is not Outcome.RAN:
        return parsed(())
    found = parser(evidence.stdout, run=evidence.run)
    if evidence.truncated:
        return parsed(found.readings, [*found.problems, "the node cut the output off"])
    return found


def _why(evidence: Evidence, found: Parsed) -> str:
    """A sentence for people: which tool said nothing, and how."""
    told = {
        Outcome.MISSING: f"{evidence.id} is not installed",
        Outcome.TIMED_OUT: f"{evidence.id} did not answer in time and was stopped",
        Outcome.FAILED_TO_START: f"{evidence.id} could not be started",
        Outcome.UNREADABLE: f"{evidence.id} sent something that can't be read",
        Outcome.RAN: found.problems[0] if found.problems else f"{evidence.id} printed nothing to measure",
    }[evidence.outcome]
    exit_status = f" (exit status {evidence.rc})" if evidence.outcome is Outcome.RAN and evidence.rc else ""
    words = evidence.stderr.strip().splitlines()
    return f"{told}{exit_status}" + (f": {words[0][:200]}" if words else "")


def _by_gpu(readings: Iterable[Reading]) -> Iterator[Reading]:
    """Readings by PCI address get the number of their GPU, where nvidia-smi knows the address."""
    known = list(readings)
    numbers = {
        f"pci:{reading.text}": reading.device
        for reading in known
        if reading.metric == "pci_address" and reading.text is not None
    }
    for reading in known:
        gpu = numbers.get(reading.device)
        if gpu is None:
            yield reading
        else:
            yield replace(reading, device=gpu, detail=(*reading.detail, ("address", reading.device[4:])))
