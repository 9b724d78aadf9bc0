"""How does a whole go on? Its shards are made wave by wave, its nodes' endings are brought home, and it is concluded once.

Whoever ends a shard holds its row and then locks the whole; nobody who holds a whole ever waits for a shard (what is locked is
left to its holder and to the sweep), so there is no ring. All of it happens in the transaction that ends the shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from portal.accounts.models import User
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning.events import JOB_FINISHED, JOB_PAUSED, JOB_RESUMED, JOB_STARTED
from provisioning.fleet.models import Node
from provisioning.jobs import bell, shard_results, waves
from provisioning.jobs.endings import Conclusion, conclude, say_counts
from provisioning.jobs.failure_policy import PER_NODE
from provisioning.jobs.job_sets import JobQuerySet
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.rowlock import locked_for_sure
from provisioning.jobs.states import ENDED, JOB_MACHINE, WHOLE, Ending, JobAction, JobState, Reason
from provisioning.jobs.tallying import counts, settle_nodes, summary
from provisioning.jobs.telling import tell
from provisioning.jobs.waves import Standing, Step
from provisioning.workers.routing import Work, queue_of

AT_ONCE = 50
CUT_SHORT = frozenset(
    {Reason.DEADLINE, Reason.IDLE, Reason.RECORD_LOST, Reason.WORKER_LOST, Reason.WORKER_ERROR}
    | {Reason.WORKER_STOPPED, Reason.COULD_NOT_START, Reason.NO_HOSTS}
)
"""Reasons of a shard that its nodes' endings don't tell."""


def begin(whole: Job) -> None:
    """Spread a whole that was made in this transaction: the shards of its first wave are queued."""
    move(whole, JobAction.SPREAD, machine=JOB_MACHINE)
    start_wave(whole, 1)
    _say(whole, shard_results.standing(whole))


def _make_shards(whole: Job, nodes: list[int]) -> None:
    for number, (site, part) in enumerate(_parts(whole, nodes), start=whole.shards.count() + 1):
        shard = Job.objects.create(
            status=JOB_MACHINE.initial,
            whole=whole,
            wave=whole.wave,
            shard=number,
            playbook=whole.playbook,
            purpose=whole.purpose,
            order=whole.order,
            cluster_ref=whole.cluster_ref,
            variables=whole.variables,
            created_by=whole.created_by,
            queue=queue_of(Work(whole.queue), site),
            priority=whole.priority,
            max_attempts=whole.max_attempts,
        )
        HostResult.objects.bulk_create(
            [HostResult(job=shard, attempt=1, node_id=node) for node in sorted(part)]
        )
        bell.ring_on_commit(shard)


def _parts(whole: Job, nodes: list[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Sites and their nodes, cut for workers: a worker reaches only the nodes of its own site."""
    book = REGISTRY.get(whole.playbook)
    size = None if book is None else book.shard_nodes
    sites = dict(Node.objects.filter(pk__in=nodes).values_list("pk", "site"))
    for site in dict.fromkeys(sites[node] for node in nodes):
        for part in waves.shards([node for node in nodes if sites[node] == site], size=size):
            yield site, part


def tell_started(job: Job, ran_from: Mapping[str, Any] = MappingProxyType({})) -> None:
    """A job began, with hashes and versions of what it runs; of a whole that is told once, when its first shard does."""
    if job.whole_id is None:
        record(JOB_STARTED, subject=job.ref, payload={**summary(job), **ran_from}, by=None)
    elif Job.objects.filter(pk=job.whole_id, started_at=None).update(started_at=Now()):
        whole = Job.objects.select_related("order").get(pk=job.whole_id)
        record(JOB_STARTED, subject=whole.ref, payload={**summary(whole), **ran_from}, by=None)


def after_shard(shard: Job, *, by: Any) -> None:
    """A shard has ended for good, in the caller's transaction: the whole goes on, pauses or is concluded."""
    assert shard.whole_id is not None
    whole = locked_for_sure(shard.whole_id)
    shard_results.bring_home(whole)
    _go_on(whole, by=by)


def locked(*, skip: bool = False) -> JobQuerySet:
    """Wholes to be changed. With `skip` those that somebody else has are left to them."""
    jobs = Job.objects.select_for_update(no_key=True, skip_locked=skip, of=("self",))
    found: JobQuerySet = jobs.select_related("order").filter(plan__isnull=False)
    return found


def _go_on(whole: Job, *, by: Any) -> None:
    """Do what the rule says until it says to wait."""
    if whole.status not in WHOLE:
        return None
    while True:
        at = shard_results.standing(whole)
        match waves.decide(at):
            case Step.TAKE_BACK if _take_back(whole):
                continue
            case Step.FILL:
                start_wave(whole, shard_results.plan_of(whole)[1])
            case Step.NEXT:
                start_wave(whole, shard_results.plan_of(whole)[1] + 1)
            case Step.PAUSE:
                return _pause(whole, at)
            case Step.CONCLUDE:
                return _conclude(whole, by=by)
            case _:
                return _say(whole, at)


def start_wave(whole: Job, number: int) -> None:
    """The nodes of wave `number` that have not begun are queued as shards."""
    whole.wave = number
    whole.save(update_fields=["wave"])
    plan, _ = shard_results.plan_of(whole)
    _make_shards(whole, shard_results.unbegun(whole, plan.wave(number).nodes))


def _say(whole: Job, at: Standing) -> None:
    """Keep one sentence about how far it is."""
    plan, number = shard_results.plan_of(whole)
    text = waves.say_progress(at, number=number, waves=len(plan.waves), title=plan.wave(number).title)
    whole.waiting_for = text[:300]
    Job.objects.filter(pk=whole.pk).update(waiting_for=whole.waiting_for)
    tell(whole.pk)


def _pause(whole: Job, at: Standing) -> None:
    plan, number = shard_results.plan_of(whole)
    text = waves.say_pause(at, number=number, waves=len(plan.waves))
    move(whole, JobAction.PAUSE, machine=JOB_MACHINE, extra={"waiting_for": text[:300]})
    record(JOB_PAUSED, subject=whole.ref, payload={**summary(whole), "now": text}, by=None)
    tell(whole.pk)


def resume(whole: Job, *, again: bool, by: User | None) -> None:
    """Go on with exactly the nodes that remain; `again`: those that failed come first, as a wave of their own."""
    plan, number = shard_results.plan_of(whole)
    rest = shard_results.unbegun(whole, plan.wave(number).nodes)
    failed = shard_results.begin_again(whole) if again else []
    plan = plan.resumed(number, again=failed, rest=[node for node in rest if node not in failed])
    move(whole, JobAction.RESUME, machine=JOB_MACHINE, extra={"plan": plan.as_data(), "waiting_for": ""})
    record(JOB_RESUMED, subject=whole.ref, payload={**summary(whole), "again": len(failed)}, by=by)
    start_wave(whole, number + 1)
    _say(whole, shard_results.standing(whole))


def _take_back(whole: Job) -> int:
    """Take back what has not begun; a shard that somebody is claiming right now runs, and counts."""
    text = "It was taken back before it began: more nodes of its wave failed than may."
    queued = _open_shards(whole).filter(status=JobState.QUEUED)
    return sum(_end_queued(shard, Reason.TAKEN_BACK, text) for shard in queued)


def _open_shards(whole: Job) -> JobQuerySet:
    shards = Job.objects.filter(whole=whole).exclude(status__in=ENDED).order_by("pk")
    found: JobQuerySet = shards.select_for_update(no_key=True, skip_locked=True, of=("self",))
    return found


def _end_queued(shard: Job, reason: Reason, text: str) -> int:
    settle_nodes(shard)
    extra = {"ended_at": Now(), "reason": reason.value, "reason_text": text[:500]}
    move(shard, JobAction.CANCEL, machine=JOB_MACHINE, extra=extra)
    tell(shard.pk)
    return 1


def stop(whole: Job, *, by: Any) -> None:
    """End a locked whole of which that was asked: what waits now, what runs as soon as its workers hear of it."""
    for shard in _open_shards(whole).filter(cancel_requested_at=None):
        Job.objects.filter(pk=shard.pk).update(
            cancel_requested_at=Now(),
            cancel_requested_by=whole.cancel_requested_by,
            cancel_reason=whole.cancel_reason,
        )
        if shard.status == JobState.QUEUED:
            _end_queued(shard, Reason.USER, f"It was cancelled before it began, with {whole.ref}.")
    shard_results.bring_home(whole)
    _go_on(whole, by=by)


def _conclude(whole: Job, *, by: Any) -> None:
    settle_nodes(whole)
    found = _conclusion(whole)
    move(
        whole,
        found.action,
        machine=JOB_MACHINE,
        extra={
            "ended_at": Now(),
            "reason": found.reason.value,
            "reason_text": found.text[:500],
            "waiting_for": "",
        },
    )
    whole.refresh_from_db()
    record(JOB_FINISHED, subject=whole.ref, payload=summary(whole), by=by)
    tell(whole.pk)


def _conclusion(whole: Job) -> Conclusion:
    """From all of its nodes, by the playbook's policy; a reason that all unlucky shards share is the whole's."""
    nodes = counts(whole)
    if whole.cancel_requested_at is not None:
        forced = whole.forced_at is not None
        why = f": {whole.cancel_reason}" if whole.cancel_reason else ""
        text = f"It was {'stopped by force' if forced else 'cancelled'}{why}. {say_counts(nodes)}"
        reason = Reason.FORCED if forced else Reason.USER
        return Conclusion(action=JobAction.CANCEL, reason=reason, text=text)
    book = REGISTRY.get(whole.playbook)
    found = conclude(nodes, no_hosts=False, policy=book.policy if book else PER_NODE)
    unlucky = list(whole.shards.exclude(reason__in=(Reason.NONE, Reason.TAKEN_BACK)).order_by("shard"))
    reasons = {Reason(shard.reason) for shard in unlucky}
    if found.action == JobAction.SUCCEED or len(reasons) != 1 or not reasons <= CUT_SHORT:
        return found
    text = f"{unlucky[0].reason_text} {found.text if nodes.get(Ending.OK) else ''}".strip()
    return Conclusion(action=found.action, reason=reasons.pop(), text=text)


def mend() -> int:
    """Take every whole on that nobody takes on: its last shard has ended, or some were locked when it was stopped or spent."""
    shards = Job.objects.filter(whole=OuterRef("pk"))
    left = shards.exclude(status__in=ENDED)
    bad = HostResult.objects.filter(job=OuterRef("pk")).exclude(ending__in=(Ending.WAITING, Ending.OK))
    stuck = Job.objects.filter(status=JobState.SPREAD).filter(
        ~Exists(left)
        | (Q(cancel_requested_at__isnull=False) & Exists(left.filter(cancel_requested_at=None)))
        | (Exists(bad) & Exists(left.filter(status=JobState.QUEUED)))
    )
    return sum(
        _mend_one(whole) for whole in list(stuck.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    )


@transaction.atomic
def _mend_one(whole_id: int) -> int:
    whole = locked(skip=True).filter(pk=whole_id, status=JobState.SPREAD).first()
    if whole is None:
        return 0
    if whole.cancel_requested_at is not None:
        stop(whole, by=whole.cancel_requested_by)
    else:
        shard_results.bring_home(whole)
        _go_on(whole, by=None)
    return 1
