"""Which job runs now? The queue's next is claimed and run to its end; nothing to claim is no error."""

from __future__ import annotations

import logging

from provisioning.jobs import bell, claims, draining, forcing, looking
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.claims import Adopted, Fenced
from provisioning.jobs.models import Job
from provisioning.jobs.states import JobState

logger = logging.getLogger(__name__)


def run_next(hint: int, *, queue: str = "") -> str:
    """Run the job that should run next in `queue`; says what became of it, or that there was none.

    `hint` is the job that rang; without a queue that one's counts.
    """
    rang_in = Job.objects.filter(pk=hint).values_list("queue", flat=True).first()
    if rang_in is None:
        return "no such job"
    queue = queue or rang_in
    while (job_id := claims.next_runnable(queue)) is not None:
        ended = run_claimed(job_id)
        if ended:
            following = claims.next_runnable(queue)
            if following is not None:
                bell.ring(following)
            return f"J-{job_id} {ended}"
    claims.say_what_it_waits_for(hint)
    return "nothing to run"


def drain_queue(limit: int = 200) -> int:
    """Run what is queued, here and now, one after the other; how many jobs that were. For tests and one-process use."""
    ran, before = 0, -1
    while before < ran < limit:
        before = ran
        for site in draining.sites():
            looking.prove_quiet(site=site)
        for queue in set(Job.objects.filter(status=JobState.QUEUED).values_list("queue", flat=True)):
            while ran < limit and (job_id := claims.next_runnable(queue)) is not None:
                ran += bool(run_claimed(job_id))
    return ran


def run_claimed(job_id: int) -> str:
    """Claim the job and run it to its end; its status then, `fenced` or `adopted` when it was taken from us, "" when there was nothing."""
    held = claims.claim(job_id, worker=claims.worker_name())
    if held is None:
        return ""
    try:
        return Attempt(held).run()
    except Adopted:
        logger.warning("job %s attempt %s goes on in other hands", held.job_id, held.attempt)
        return "adopted"
    except Fenced:
        forcing.has_ended(held.mark)
        logger.warning(
            "job %s attempt %s was taken over; it was stopped and wrote nothing", held.job_id, held.attempt
        )
        return "fenced"
