"""What follows a sweep, by schedule or by hand? Its nodes are judged by what it measured, as after any validation."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from provisioning.jobs.models import Job
from provisioning.orders import judging


def judge_sweep(event: Event) -> None:
    """Judge the nodes of a job of no order that measured all there is; judging twice says the same."""
    sweeps = Job.objects.filter(
        playbook="validate_node", order=None, status__in=("succeeded", "partial", "cancelled")
    )
    job = sweeps.filter(pk=parse_ref(event.subject, "J")).first()
    if job is not None and not job.variables.get("probe_checks"):
        judging.judge().judge_nodes(job=job)
