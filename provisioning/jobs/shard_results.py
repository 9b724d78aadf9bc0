"""Where are the nodes of a whole, and what came of those whose shard has ended? Read and brought home in sets."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import F, Q

from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import ENDED, OWNED, Ending, JobState, Reason
from provisioning.jobs.waves import Plan, Standing

BROUGHT = (
    *("ending", "tasks_done", "changed", "last_task", "last_event_at"),
    *("first_failure", "first_failure_counter", "data", "data_truncated"),
)
_BRING_HOME = """
    UPDATE {results} AS home SET {columns}
    FROM {results} AS there JOIN {jobs} AS shard ON shard.id = there.job_id
    WHERE shard.whole_id = %(whole)s AND shard.wave = %(wave)s AND shard.status = ANY(%(ended)s)
      AND shard.reason <> %(taken_back)s AND there.attempt = GREATEST(shard.attempt, 1)
      AND home.job_id = %(whole)s AND home.attempt = 1 AND home.node_id = there.node_id AND home.ending = %(waiting)s
    RETURNING there.id
"""


def bring_home(whole: Job) -> int:
    """Give the locked `whole` what its ended shards of this wave came to; how many nodes that were. Twice is once.

    What the nodes sent is moved, not copied: it may be megabytes a node.
    """
    results, jobs = (connection.ops.quote_name(model._meta.db_table) for model in (HostResult, Job))
    columns = ", ".join(f"{name} = there.{name}" for name in BROUGHT)
    told = {
        "whole": whole.pk,
        "wave": whole.wave,
        "ended": sorted(ENDED),
        "taken_back": Reason.TAKEN_BACK.value,
        "waiting": Ending.WAITING.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BRING_HOME.format(results=results, jobs=jobs, columns=columns), told)
        brought = [row[0] for row in cursor.fetchall()]
    HostResult.objects.filter(pk__in=brought).update(data={})
    return len(brought)


def plan_of(whole: Job) -> tuple[Plan, int]:
    """The plan of a whole, and the number of its present wave."""
    assert whole.plan is not None
    assert whole.wave is not None
    return Plan.from_data(whole.plan), whole.wave


def standing(whole: Job) -> Standing:
    """Where the nodes of the whole's present wave are."""
    plan, number = plan_of(whole)
    wave = plan.wave(number)
    endings = dict(
        HostResult.objects.filter(job=whole, attempt=1, node__in=wave.nodes).values_list("node_id", "ending")
    )
    places = open_places(whole)
    waiting = [node for node, ending in endings.items() if ending == Ending.WAITING]
    ok = sum(ending == Ending.OK for ending in endings.values())
    return Standing(
        ok=ok,
        bad=len(endings) - len(waiting) - ok,
        running=sum(places.get(node) in OWNED for node in waiting),
        queued=sum(places.get(node) == JobState.QUEUED for node in waiting),
        unbegun=sum(node not in places for node in waiting),
        later=plan.after(number),
        may_fail=wave.may_fail,
        stopping=whole.cancel_requested_at is not None,
    )


def open_places(whole: Job) -> dict[int, str]:
    """Nodes that are in an open shard, and its state."""
    rows = HostResult.objects.filter(job__whole=whole).exclude(job__status__in=ENDED)
    return dict(rows.values_list("node_id", "job__status"))


def unbegun(whole: Job, nodes: Iterable[int]) -> list[int]:
    """Those of `nodes`, in their order, that have no ending and are in no open shard."""
    places = open_places(whole)
    waiting = set(
        HostResult.objects.filter(job=whole, attempt=1, ending=Ending.WAITING).values_list(
            "node_id", flat=True
        )
    )
    return [node for node in nodes if node in waiting and node not in places]


def begin_again(whole: Job) -> list[int]:
    """Nodes of the whole that ended and are not ok, in the plan's order; they count as not begun from here on."""
    ended = HostResult.objects.filter(job=whole, attempt=1).exclude(ending__in=(Ending.WAITING, Ending.OK))
    bad = set(ended.values_list("node_id", flat=True))
    ended.update(
        ending=Ending.WAITING,
        tasks_done=0,
        changed=0,
        last_task="",
        last_event_at=None,
        first_failure="",
        first_failure_counter=None,
        data={},
        data_truncated=False,
    )
    planned = dict.fromkeys(node for wave in plan_of(whole)[0].waves for node in wave.nodes)
    return [node for node in planned if node in bad]


def current() -> Q:
    """Host results of the attempt that comes, runs or ran: before the first claim that is attempt 1."""
    return (
        Q(attempt=F("job__attempt"), job__attempt__gte=1) & ~Q(job__status=JobState.QUEUED)
        | Q(attempt=F("job__attempt") + 1, job__status=JobState.QUEUED)
        | Q(attempt=1, job__attempt=0)
    )
