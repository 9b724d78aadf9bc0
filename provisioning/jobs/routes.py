"""Does a queued job still wait where its nodes stand? An import may have moved them to another site meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from portal.kernel.errors import Refused
from provisioning.fleet.models import Node
from provisioning.fleet.sites import say_site, say_sites
from provisioning.jobs import bell
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import JobState
from provisioning.workers.routing import Work, queue_of, site_of


def one_site(nodes: Iterable[Node]) -> str:
    """Whose workers reach these nodes; Refused when they stand at several sites."""
    sites = {node.site for node in nodes}
    if len(sites) > 1:
        raise Refused(
            f"These nodes stand at {say_sites(sites)}, and a worker reaches only those of its own site. "
            "Ask for a job at each site.",
            code="several-sites",
            data={"sites": sorted(sites)},
        )
    return sites.pop()


def check_reach(job: Job, nodes: Collection[Node]) -> None:
    """Refused when this job's worker is not at the nodes' site: nothing speaks to a node from elsewhere."""
    site = one_site(nodes)
    if site != site_of(job.queue):
        raise Refused(
            f"its nodes stand at {say_site(site)} now, and it was started for {say_site(site_of(job.queue))}",
            code="moved-site",
        )


def follow(job: Job) -> bool:
    """Let a queued job wait where its nodes stand; True when it waited elsewhere and rings there from now on.

    Nodes that were torn apart are left to the attempt, which says so and ends.
    """
    sites = set(
        HostResult.objects.filter(job=job, attempt=job.targets_attempt).values_list("node__site", flat=True)
    )
    if len(sites) != 1 or site_of(job.queue) in sites:
        return False
    queue = queue_of(Work.JOBS, sites.pop())
    moved = Job.objects.filter(pk=job.pk, status=JobState.QUEUED)
    if moved.update(queue=queue, announced_at=None, announced_times=0):
        bell.ring_on_commit(job)
    return True


def follow_nodes(names: Collection[str]) -> int:
    """The same for every queued job that is about one of these nodes; how many waited elsewhere."""
    jobs = Job.objects.filter(status=JobState.QUEUED, host_results__node__name__in=names).distinct()
    return sum(follow(job) for job in jobs.order_by("pk"))
