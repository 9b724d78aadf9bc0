"""What do people and clients ask about jobs? Lists with their nodes counted, and one job with all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.refs import parse_ref
from provisioning.jobs import claims, host_table, whole_view
from provisioning.jobs.host_table import HostTable, Wanted
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.shard_results import current
from provisioning.jobs.states import OWNED, REASONS, WHOLE, Ending, JobState
from provisioning.jobs.whole_view import WaveView
from provisioning.workers.routing import site_of

GROUPS: dict[str, tuple[JobState, ...]] = {
    "active": (JobState.QUEUED, JobState.CLAIMED, JobState.RUNNING, JobState.SPREAD),
    "attention": (JobState.PAUSED, JobState.FAILED, JobState.PARTIAL, JobState.TIMED_OUT, JobState.LOST),
    "ended": (JobState.SUCCEEDED, JobState.CANCELLED),
}
STATES = (*GROUPS, *(str(state) for state in JobState))
PAGE = 25


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job in a list: `nodes` by ending, `why` the sentence that says what it waits for or how it ended."""

    job: Job
    nodes: dict[str, int] = field(default_factory=dict)
    why: str = ""

    @property
    def total(self) -> int:
        return sum(self.nodes.values())

    @property
    def ok(self) -> int:
        return self.nodes.get(Ending.OK, 0)


def jobs_of(user: User | AnonymousUser, *, state: str = "", reason: str = "") -> QuerySet[Job]:
    """Jobs the person may see, newest first, each once however many shards it has; `state` is one state or one of GROUPS.

    Invalid for a state or a reason that jobs don't have.
    """
    if state and state not in STATES:
        raise Invalid({"state": [f"There is no such state of a job. Known: {', '.join(STATES)}."]})
    if reason and reason not in REASONS:
        raise Invalid({"reason": [f"There is no such reason. Known: {', '.join(REASONS)}."]})
    jobs = Job.objects.visible_to(user).asked_for().select_related("order", "created_by")
    if state in GROUPS:
        jobs = jobs.filter(status__in=GROUPS[state])
    elif state:
        jobs = jobs.filter(status=state)
    if reason:
        jobs = jobs.filter(reason=reason)
    return jobs.order_by("-id")


def rows_for(jobs: Sequence[Job]) -> list[JobRow]:
    """The jobs with their nodes counted, in one query for all of them."""
    found: dict[int, dict[str, int]] = {job.pk: {} for job in jobs}
    for job_id, ending, nodes in (
        HostResult.objects.filter(job__in=found)
        .filter(current())
        .values_list("job_id", "ending")
        .order_by("job_id", "ending")
        .annotate(nodes=Count("pk"))
    ):
        found[job_id][ending] = nodes
    return [JobRow(job=job, nodes=found[job.pk], why=say_why(job)) for job in jobs]


def say_why(job: Job) -> str:
    """One sentence: what it waits for, that its end was asked for, or how it ended."""
    if job.status == JobState.QUEUED:
        site = site_of(job.queue)
        return job.waiting_for or f"Waits for a worker{f' of site {site}' if site else ''}."
    if job.status in WHOLE:
        stopping = job.cancel_requested_at is not None
        return "It was asked to stop; its workers end it within seconds." if stopping else job.waiting_for
    if job.status in OWNED and job.cancel_requested_at is not None:
        return "It was asked to stop; its worker ends it within seconds."
    return job.reason_text


def heard_at(job: Job) -> datetime | None:
    """When the worker that holds the job was last heard of, by the database's clock; None when nobody holds it."""
    return None if job.lease_until is None else min(job.lease_until - claims.lease_span(), now())


def job_by_ref(user: User | AnonymousUser, ref: str) -> Job:
    """The job, NotFound for one that isn't the person's to see."""
    jobs = Job.objects.visible_to(user).select_related(
        "order", "created_by", "cancel_requested_by", "forced_by", "relaunch_of", "whole"
    )
    job = jobs.filter(pk=parse_ref(ref, "J")).first()
    if job is None:
        raise NotFound(f"There is no job {ref[:40]}.")
    return job


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Tasks done on nodes, of those expected. `expected` None: it has not begun, or its files can't be counted."""

    done: int
    expected: int | None

    @property
    def label(self) -> str:
        if self.expected is None:
            return f"{self.done} tasks done on its nodes"
        return f"{min(self.done, self.expected)} of about {self.expected} tasks done on its nodes"


def progress(job: Job, *, done: int, nodes: int) -> Progress:
    """How far a job is, measured by its playbook's last run in which all went well, or by the tasks in its files."""
    tasks = whole_view.expected_tasks(job) if job.is_whole else job.expected_tasks
    return Progress(done=done, expected=None if tasks is None else tasks * nodes)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that is told of a job besides its own row."""

    hosts: HostTable
    progress: Progress
    waves: list[WaveView]


def seen(job: Job, wanted: Wanted, *, trouble_first: bool = False) -> Seen:
    """How far the job is, its waves, and those of its nodes that are wanted."""
    hosts = host_table.table(job, wanted, trouble_first=trouble_first)
    done = progress(job, done=hosts.tasks_done, nodes=hosts.total)
    return Seen(hosts=hosts, progress=done, waves=whole_view.waves(job) if job.is_whole else [])


def first_failure(job: Job, attempt: int) -> int | None:
    """The counter of the first event that failed."""
    return (
        events_of(job, attempt)
        .filter(failed=True)
        .order_by("counter")
        .values_list("counter", flat=True)
        .first()
    )


def events_after(job: Job, attempt: int, counter: int) -> QuerySet[JobEvent]:
    """Events of an attempt after `counter`, in order."""
    return events_of(job, attempt).filter(counter__gt=counter).order_by("counter")


def events_of(job: Job, attempt: int) -> QuerySet[JobEvent]:
    """Events of an attempt, asked of its month's part alone."""
    return JobEvent.objects.filter(job=job, attempt=attempt, month=job.month)
