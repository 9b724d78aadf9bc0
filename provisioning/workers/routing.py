"""Which queue does work ring in, and which queues does a worker serve? Names of queues say the kind of work and the site; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from provisioning.fleet.sites import NOWHERE, read_site

NAMELESS = "-"
"""How the site without a name is written in a list of sites."""


class Work(StrEnum):
    """Kinds of work. Only `jobs` takes long, so a worker of jobs does nothing else."""

    DOORBELL = "doorbell"
    LOOKS = "looks"
    JOBS = "jobs"


def queue_of(work: Work, site: str = NOWHERE) -> str:
    """`jobs`, `jobs.north`; the doorbell is the portal's own and knows no sites."""
    return work.value if work == Work.DOORBELL or site == NOWHERE else f"{work.value}.{site}"


def site_of(queue: str) -> str:
    """The site that a queue is for: `north` of `jobs.north`."""
    return queue.partition(".")[2]


def is_for_jobs(queue: str) -> bool:
    """True for a queue of long work."""
    return queue.partition(".")[0] == Work.JOBS


def read_sites(words: Iterable[str]) -> tuple[str, ...]:
    """Sites of a worker, `-` for the one without a name; none named means that one. ValueError for what is no site."""
    read = {NOWHERE if word == NAMELESS else read_site(word) for word in words}
    return tuple(sorted(read)) or (NOWHERE,)


def queues_of(works: Collection[Work], sites: Collection[str]) -> tuple[str, ...]:
    """What a worker listens to. ValueError when it would do short work behind long work."""
    if Work.JOBS in works and len(set(works)) > 1:
        others = " and ".join(sorted(work.value for work in works if work != Work.JOBS))
        raise ValueError(
            f"jobs take hours, and {others} would wait for them; start a worker of its own for each"
        )
    return tuple(sorted({queue_of(work, site) for work in works for site in sites}))


def worker_of(claimed_by: str) -> str:
    """`machine:pid` of the worker whose process has a job."""
    return claimed_by.partition("/")[0]


def machine_of(worker: str) -> str:
    """The machine that a worker, or a process of its pool, runs on."""
    return worker.partition(":")[0]
