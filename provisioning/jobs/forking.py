"""How many nodes does an attempt talk to at once? Asked of its worker's machine when it is about to start."""

from __future__ import annotations

from django.db.models import Sum

from portal.config import config
from provisioning.jobs.models import Job
from provisioning.jobs.states import OWNED
from provisioning.workers.machine import this_machine
from provisioning.workers.models import Worker
from provisioning.workers.routing import is_for_jobs, machine_of
from provisioning.workers.sizing import Forks, forks_for

WAITS = frozenset({"drain_node", "validate_node"})
"""Playbooks whose forks do little but wait for their nodes."""


def forks_of(job: Job, *, hosts: int) -> Forks:
    """Forks of the attempt that this machine has just claimed."""
    machine = machine_of(job.claimed_by)
    others = Job.objects.filter(status__in=OWNED, claimed_by__startswith=f"{machine}:").exclude(pk=job.pk)
    here = Worker.objects.all().alive().filter(name__startswith=f"{machine}:")
    return forks_for(
        hosts=hosts,
        machine=this_machine(),
        slots=sum(worker.slots for worker in here if any(map(is_for_jobs, worker.queues))),
        taken=others.aggregate(forks=Sum("forks", default=0))["forks"],
        most=config().job_forks,
        waits=job.playbook in WAITS,
    )
