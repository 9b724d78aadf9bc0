"""How is a claimed job run to its end? One child per attempt: started or taken over, watched, concluded, never left behind."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from portal.kernel.clock import now
from portal.kernel.errors import Invalid, PortalError
from portal.kernel.moves import move
from portal.kernel.units import say_span
from provisioning.jobs import claims, finishing, host_keys, rollouts, salvage
from provisioning.jobs.child_process import AdoptedChild, ChildProcess
from provisioning.jobs.claims import Claim
from provisioning.jobs.endings import Conclusion, conclude
from provisioning.jobs.models import Job
from provisioning.jobs.preparation import Prepared, found, prepare, secrets_to_hide
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.spool import SpoolReader
from provisioning.jobs.states import JOB_MACHINE, Ending, JobAction, Reason
from provisioning.jobs.watch import DATABASE_AWAY, Watch

logger = logging.getLogger(__name__)

DATABASE_PATIENCE = 120.0

_STOPS = {
    Reason.USER: (JobAction.CANCEL, "It was cancelled."),
    Reason.DEADLINE: (JobAction.TIME_OUT, "It took longer than its limit of {limit}."),
    Reason.IDLE: (JobAction.TIME_OUT, "Nothing was heard from it for {limit}."),
    Reason.WORKER_STOPPED: (JobAction.LOSE, "Its worker was stopped."),
    Reason.WORKER_LOST: (JobAction.LOSE, "It ended itself, because no worker was heard of for too long."),
}


class Attempt:
    """One attempt, from the claim to its end, or from its being taken over."""

    def __init__(self, held: Claim) -> None:
        self.held = held

    def run(self) -> str:
        with ExitStack() as stack:
            try:
                prepared = prepare(Job.objects.get(pk=self.held.job_id), self.held)
                stack.push(salvage.leaving(prepared.space))
                child = stack.enter_context(
                    ChildProcess.started(
                        prepared.space, mark=self.held.mark, variables=prepared.accelerator.variables
                    )
                )
            except (PortalError, ValueError) as problem:
                text = f"It did not start, because: {_say(problem)}"
                return self._end_unstarted(JobAction.FAIL, Reason.COULD_NOT_START, text)
            except OSError as problem:
                return self._end_unstarted(
                    JobAction.LOSE, Reason.WORKER_ERROR, f"Its worker could not start it: {problem}"
                )
            ended = self._start(prepared)
            if ended:
                return ended
            child.go()
            return self._watch(prepared, child, stack)

    def take_over(self) -> str:
        """Follow a child that another worker started, from the first line of its spool to its end."""
        job = Job.objects.get(pk=self.held.job_id)
        with ExitStack() as stack:
            prepared = found(job, self.held)
            stack.push(salvage.leaving(prepared.space))
            child = stack.enter_context(
                AdoptedChild(prepared.space, mark=self.held.mark, step=self.held.step)
            )
            child.go()
            return self._watch(prepared, child, stack, begun_at=job.started_at)

    def _start(self, prepared: Prepared) -> str:
        """Put it on record as running, or end it when that is what somebody wants by now: nothing has begun."""
        with transaction.atomic():
            job = claims.ours(self.held)
            if job.cancel_requested_at is not None:
                return self._end(job, JobAction.CANCEL, Reason.USER, _STOPS[Reason.USER][1])
            if job.hand_back:
                return self._end(job, JobAction.LOSE, Reason.WORKER_STOPPED, _STOPS[Reason.WORKER_STOPPED][1])
            move(job, JobAction.START, machine=JOB_MACHINE, extra={"started_at": Now(), **prepared.facts})
            job.refresh_from_db()
            ran_from = {
                name: prepared.facts[name] for name in ("playbook_hash", "inventory_hash", "versions")
            }
            rollouts.tell_started(job, ran_from)
        return ""

    def _watch(
        self,
        prepared: Prepared,
        child: AdoptedChild,
        stack: ExitStack,
        *,
        begun_at: datetime | None = None,
    ) -> str:
        spool = SpoolReader(prepared.space.spool)
        stack.callback(spool.close)
        redactor = Redactor(secrets_to_hide())
        recorder = Recorder(
            job_id=self.held.job_id,
            attempt=self.held.attempt,
            nodes=prepared.nodes,
            redactor=redactor,
            month=prepared.month,
        )
        ran = 0.0 if begun_at is None else max((now() - begun_at).total_seconds(), 0.0)
        watch = Watch(self.held, prepared.book, child, spool, recorder, ran=ran)
        watch.until_it_ends()
        found = self._conclusion(watch, recorder, child, redactor)

        def write() -> str:
            with transaction.atomic():
                job = claims.ours(self.held)
                recorder.flush()
                host_keys.learn(job, prepared.space.known_hosts, prepared.nodes)
                return self._end(
                    job,
                    found.action,
                    found.reason,
                    found.text,
                    drains=not recorder.fold.came_to_its_end,
                    cut_off=[prepared.nodes[name] for name in recorder.fold.cut_off()],
                )

        return _patiently(write)

    def _conclusion(
        self, watch: Watch, recorder: Recorder, child: AdoptedChild, redactor: Redactor
    ) -> Conclusion:
        """What the record says; the nodes get their last word here."""
        end = watch.spool.end or {}
        stop = watch.stop or _told(end)
        by_itself = recorder.fold.stats is not None or (stop is None and end.get("rc") == 0)
        lost = bool(watch.spool.unreadable or end.get("lost"))
        torn = lost or bool(end.get("torn")) or (watch.spool.end is None and not by_itself)
        recorder.fold.settle(finished=by_itself, torn=torn)
        if lost:
            text = (
                "What it said could not be kept in full, so nobody can tell how it ended. Is the disk full?"
            )
            return Conclusion(action=JobAction.FAIL, reason=Reason.RECORD_LOST, text=text)
        if not by_itself and stop is not None:
            action, text = _STOPS[stop]
            limit = watch.book.idle if stop == Reason.IDLE else watch.book.timeout
            return Conclusion(action=action, reason=stop, text=text.format(limit=say_span(limit)))
        if not by_itself and (
            end.get("status") not in {"successful", "failed"} or _killed_at_once(end, recorder)
        ):
            said = end.get("text") or child.last_words() or "it ended without a word."
            said = redactor.text(str(said))
            return Conclusion(
                action=JobAction.LOSE,
                reason=Reason.WORKER_ERROR,
                text=f"The process that ran it is gone: {said}"[:500],
            )
        return conclude(
            recorder.fold.counts(),
            no_hosts=recorder.fold.no_hosts,
            last_words=recorder.last_words,
            policy=watch.book.policy,
        )

    def _end_unstarted(self, action: JobAction, reason: Reason, text: str) -> str:
        def write() -> str:
            with transaction.atomic():
                return self._end(claims.ours(self.held), action, reason, text)

        return _patiently(write)

    def _end(
        self,
        job: Job,
        action: JobAction,
        reason: Reason,
        text: str,
        *,
        drains: bool = False,
        cut_off: Sequence[int] = (),
    ) -> str:
        """A job that has to end without having been done ends as cancelled when somebody asked for that."""
        if job.cancel_requested_at is not None and action == JobAction.LOSE:
            action, reason, text = JobAction.CANCEL, Reason.USER, _STOPS[Reason.USER][1]
        if reason == Reason.USER and job.cancel_reason:
            text = f"It was cancelled: {job.cancel_reason}"
        ended = finishing.end_job(job, action, reason=reason, text=text, drains=drains, cut_off=cut_off)
        return str(ended.status)


def _told(end: Mapping[str, Any]) -> Reason | None:
    """Why the child ended its playbook, when it did: its own end record keeps what a worker that is gone had told it."""
    why = str(end.get("why") or "")
    if not why:
        return None
    return next((reason for reason in _STOPS if reason.value == why), Reason.WORKER_LOST)


def _killed_at_once(end: Mapping[str, Any], recorder: Recorder) -> bool:
    """True when ansible-playbook was killed, say for want of memory, before it spoke to any node: nothing is wrong with it."""
    by_a_signal = end.get("status") == "failed" and end.get("rc") is None
    return by_a_signal and set(recorder.fold.counts()) == {Ending.NOT_ATTEMPTED.value}


def _say(problem: Exception) -> str:
    fields = problem.fields if isinstance(problem, Invalid) else {}
    return " ".join([str(problem), *(f"{name}: {' '.join(texts)}" for name, texts in fields.items())])


def _patiently(write: Callable[[], str]) -> str:
    """Write the end, through an outage of the database too; a lease that was lost meanwhile says so."""
    deadline = time.monotonic() + DATABASE_PATIENCE
    while True:
        try:
            return write()
        except DATABASE_AWAY as problem:
            logger.warning("the database is away (%s)", problem)
            if time.monotonic() > deadline:
                raise
            connection.close()
            time.sleep(1)
