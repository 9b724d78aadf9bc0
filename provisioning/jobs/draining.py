"""When is a node free again after a job was stopped on it? When somebody has looked and found it quiet, never before."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Greatest, Least, Now

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.services import record
from provisioning.events import NODE_QUIET
from provisioning.fleet.services import subject_of
from provisioning.jobs import bell, tasks
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.states import JobState, Reason
from provisioning.workers.routing import Work, queue_of

logger = logging.getLogger(__name__)

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=5)
PATIENCE = 2
"""A node that drains for a while is looked at again after this part of it: nobody waits half as long again as was needed."""
LONGEST_REASON = 200
LOOK_IS_HELD = timedelta(seconds=10)
"""A look of which nothing is heard for so long was lost with its worker, and the node is looked at again."""
AT_ONCE = 50

_BECAUSE = {
    Reason.USER: "was cancelled",
    Reason.FORCED: "was stopped by force",
    Reason.DEADLINE: "took longer than its limit",
    Reason.IDLE: "was not heard of for too long",
    Reason.WORKER_LOST: "lost its worker",
    Reason.WORKER_ERROR: "lost the process that ran it",
    Reason.WORKER_STOPPED: "had its worker stopped",
    Reason.RECORD_LOST: "lost its record",
}
CUT_SHORT = "was cut short"
CUT_OFF = "lost its connection in the middle of a task"


def draining() -> QuerySet[NodeLease]:
    """Leases of ended attempts whose nodes nobody has seen quiet."""
    return NodeLease.objects.filter(released_at=None, draining_since__isnull=False)


def release_or_drain(job: Job, reason: Reason, *, drains: bool, cut_off: Collection[int]) -> None:
    """The attempt has ended: its nodes are free, but for those where something of it may still run.

    `drains`: all of them, because it did not end by itself. `cut_off`: ids of nodes that were lost in the middle.
    """
    held = NodeLease.objects.filter(job=job, released_at=None, draining_since=None)
    loose = held if drains else held.filter(node__in=list(cut_off))
    because = f"{job.ref} {_BECAUSE.get(reason, CUT_SHORT) if drains else CUT_OFF}"
    count = loose.update(draining_since=Now(), probe_after=Now(), drain_because=because)
    held.update(released_at=Now())
    if count:
        transaction.on_commit(ring_when_due)


def wait_for_end(job: Job, *, until: datetime) -> None:
    """Nobody is sure yet that the ended attempt's playbook is dead: its nodes are not looked at before `until`."""
    said = f"its playbook may still run: it ends by itself by {until:%H:%M} UTC, if nobody can end it before"
    draining().filter(job=job, attempt=job.attempt).update(probe_after=until, probe_said=said)


def _waiting_for_end(mark: str) -> QuerySet[NodeLease]:
    return draining().filter(mark=mark, job__reason=Reason.FORCED, probes=0, probe_after__gt=Now())


def waits_for_end(mark: str) -> bool:
    """True while nodes of that attempt wait to hear that its playbook is dead."""
    return _waiting_for_end(mark).exists()


def look_now(mark: str) -> None:
    """The attempt's playbook is dead for sure: its nodes may be looked at."""
    if _waiting_for_end(mark).update(probe_after=Now(), probe_said=""):
        ring_when_due()


def sites() -> list[str]:
    """Sites with a node that waits to be looked at."""
    due = draining().filter(probe_after__lte=Now())
    return list(due.order_by("node__site").values_list("node__site", flat=True).distinct())


def ring_when_due() -> None:
    """Ask a worker of each site to look. Without a broker nothing is lost: the sweep rings again."""
    for site in sites():
        try:
            queue = queue_of(Work.LOOKS, site)
            tasks.prove_quiet.apply_async(
                kwargs={"site": site}, queue=queue, retry=False, ignore_result=True, expires=60
            )
        except Exception as problem:  # noqa: BLE001 - a broker may fail in any way; the row is the truth
            logger.warning(
                "the broker can't be reached (%s); the sweep will ring for draining nodes", problem
            )
            return


def take_looks(site: str = "") -> list[NodeLease]:
    """The nodes of a site to look at now, each with a number of its own; nobody else gets one of them meanwhile."""
    with transaction.atomic():
        due = list(
            draining()
            .filter(probe_after__lte=Now(), node__site=site)
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("node__sku", "job")
            .order_by("probe_after", "pk")[:AT_ONCE]
        )
        for lease in due:
            lease.probes += 1
            NodeLease.objects.filter(pk=lease.pk).update(
                probes=lease.probes, probe_after=Now() + LOOK_IS_HELD
            )
    return due


def still_looking(leases: Iterable[NodeLease]) -> None:
    """Whoever looks says every few seconds that they still do, or others would look, too."""
    for lease in leases:
        _still(lease).update(probe_after=Now() + LOOK_IS_HELD)


@transaction.atomic
def found_quiet(lease: NodeLease, *, ended: int = 0) -> bool:
    """A look found nothing, or nothing any more: the node is free. False when another look came after it."""
    if not _still(lease).update(released_at=Now(), probe_said=""):
        return False
    _quiet(lease, {"how": "proved", "ended": ended, "looks": lease.probes}, by=None)
    return True


def found_busy(lease: NodeLease, said: str) -> bool:
    """A look found something, or didn't reach the node: it is looked at again later, after half the time that it drains."""
    return _again(lease, said, longest=LONGEST_WAIT)


def could_not_look(lease: NodeLease, said: str) -> bool:
    """A look failed before it came to the node, whose fault that isn't: it is looked at again soon, however often that was."""
    return _again(lease, said, longest=LOOK_IS_HELD)


def _again(lease: NodeLease, said: str, *, longest: timedelta) -> bool:
    drains = ExpressionWrapper((Now() - F("draining_since")) / PATIENCE, output_field=DurationField())
    wait = Least(Greatest(drains, FIRST_WAIT), longest)
    return bool(_still(lease).update(probe_said=said[:300], probe_after=Now() + wait))


def _still(lease: NodeLease) -> QuerySet[NodeLease]:
    return draining().filter(pk=lease.pk, probes=lease.probes)


@transaction.atomic
def declare_quiet(node: str, *, reason: str, by: User) -> NodeLease:
    """An operator has made sure that nothing of the ended job runs on `node`, say because it was switched off.

    Raises NotAllowed, Invalid without a reason, Refused when the node isn't draining or a playbook may still come back to it.
    """
    if not by.can(Action.OPERATE_FLEET):
        raise NotAllowed("Only operators may declare a node quiet.")
    said = " ".join(reason.split())[:LONGEST_REASON]
    if not said:
        raise Invalid({"reason": ["Say how you know: the next job will run on this node."]})
    lease = (
        draining()
        .filter(node__name=node)
        .select_for_update(of=("self",))
        .select_related("node", "job")
        .first()
    )
    if lease is None:
        raise Refused(f"{node} is not draining.", code="not-draining")
    if waits_for_end(lease.mark):
        raise Refused(f"{node} can't be declared quiet yet: {lease.probe_said}.", code="may-still-run")
    NodeLease.objects.filter(pk=lease.pk).update(released_at=Now(), probe_said=said)
    _quiet(lease, {"how": "declared", "reason": said}, by=by)
    return lease


def _quiet(lease: NodeLease, told: dict[str, object], *, by: User | None) -> None:
    payload = {"node": lease.node.name, "job": lease.job.ref, "attempt": lease.attempt, **told}
    record(NODE_QUIET, subject=subject_of(lease.node.name), payload=payload, by=by)
    waiting = Job.objects.filter(status=JobState.QUEUED, host_results__node=lease.node_id).distinct()
    for job in waiting.order_by("-priority", "pk")[:AT_ONCE]:
        bell.ring_on_commit(job)


def say(lease: NodeLease) -> str:
    """Why a node is not free: `J-12 holds`, or `is draining since …, because …; what the last look found`."""
    if lease.draining_since is None:
        return f"{lease.job.ref} holds"
    told = f"is draining since {lease.draining_since:%H:%M} UTC, because {lease.drain_because}"
    return f"{told}; {lease.probe_said}" if lease.probe_said else told
