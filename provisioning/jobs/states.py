"""Where can a job stand, how can it end on each node, and why? Tables and words, nothing that acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from portal.kernel.transitions import Machine


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    SPREAD = "spread"
    PAUSED = "paused"


class JobAction(StrEnum):
    """What moves a job. Only whoever holds its lease does; without an owner the sweep does."""

    CLAIM = "claim"
    START = "start"
    SUCCEED = "succeed"
    SUCCEED_PARTLY = "succeed partly"
    FAIL = "fail"
    CANCEL = "cancel"
    TIME_OUT = "time out"
    LOSE = "lose"
    RETRY = "retry"
    SPREAD = "spread"
    PAUSE = "pause"
    RESUME = "resume"


S, A = JobState, JobAction

JOB_MACHINE = Machine(
    name="job",
    initial=S.QUEUED,
    table={
        (S.QUEUED, A.CLAIM): S.CLAIMED,
        (S.QUEUED, A.CANCEL): S.CANCELLED,
        (S.CLAIMED, A.START): S.RUNNING,
        (S.CLAIMED, A.FAIL): S.FAILED,
        (S.CLAIMED, A.CANCEL): S.CANCELLED,
        (S.CLAIMED, A.LOSE): S.LOST,
        (S.RUNNING, A.SUCCEED): S.SUCCEEDED,
        (S.RUNNING, A.SUCCEED_PARTLY): S.PARTIAL,
        (S.RUNNING, A.FAIL): S.FAILED,
        (S.RUNNING, A.CANCEL): S.CANCELLED,
        (S.RUNNING, A.TIME_OUT): S.TIMED_OUT,
        (S.RUNNING, A.LOSE): S.LOST,
        (S.LOST, A.RETRY): S.QUEUED,
        (S.QUEUED, A.SPREAD): S.SPREAD,
        (S.SPREAD, A.SUCCEED): S.SUCCEEDED,
        (S.SPREAD, A.SUCCEED_PARTLY): S.PARTIAL,
        (S.SPREAD, A.FAIL): S.FAILED,
        (S.SPREAD, A.CANCEL): S.CANCELLED,
        (S.SPREAD, A.PAUSE): S.PAUSED,
        (S.PAUSED, A.RESUME): S.SPREAD,
        (S.PAUSED, A.CANCEL): S.CANCELLED,
    },
)

ENDED = frozenset({S.SUCCEEDED, S.PARTIAL, S.FAILED, S.CANCELLED, S.TIMED_OUT, S.LOST})
"""States in which nothing runs. `lost` is left again, in the same transaction, when the job may be repeated by itself."""

OWNED = frozenset({S.CLAIMED, S.RUNNING})
"""States in which a worker holds the lease and the nodes."""

WHOLE = frozenset({S.SPREAD, S.PAUSED})
"""States of a whole that is not over. No worker ever claims a whole: its shards run, or none does between waves."""


class Reason(StrEnum):
    """Why a job ended as it did; pages show one sentence beside it."""

    NONE = ""
    HOSTS_FAILED = "hosts_failed"
    UNREACHABLE = "unreachable"
    NO_HOSTS = "no_hosts"
    COULD_NOT_START = "could_not_start"
    STOPPED_EARLY = "stopped_early"
    USER = "user"
    FORCED = "forced"
    DEADLINE = "deadline"
    IDLE = "idle"
    WORKER_LOST = "worker_lost"
    WORKER_ERROR = "worker_error"
    WORKER_STOPPED = "worker_stopped"
    RECORD_LOST = "record_lost"
    TAKEN_BACK = "taken_back"


REASONS: Mapping[Reason, str] = {
    Reason.HOSTS_FAILED: "a node failed",
    Reason.UNREACHABLE: "a node was out of reach",
    Reason.NO_HOSTS: "no node matched",
    Reason.COULD_NOT_START: "it could not start",
    Reason.STOPPED_EARLY: "its playbook ended early",
    Reason.USER: "somebody stopped it",
    Reason.FORCED: "stopped by force",
    Reason.DEADLINE: "it took too long",
    Reason.IDLE: "nothing was heard of it",
    Reason.WORKER_LOST: "its worker was lost",
    Reason.WORKER_ERROR: "its worker had an error",
    Reason.WORKER_STOPPED: "its worker was stopped",
    Reason.RECORD_LOST: "its record was lost",
    Reason.TAKEN_BACK: "taken back before it began",
}
"""What a list of jobs is narrowed to, in a few words; the sentence of one job says more."""

RETRIED = frozenset({Reason.WORKER_LOST, Reason.WORKER_ERROR, Reason.WORKER_STOPPED})
"""What is tried again by itself: the portal's own accidents. A failed check or a node that is away never is."""


class Ending(StrEnum):
    """How a job stands on one node. The last five are final."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_ATTEMPTED = "not_attempted"
    INTERRUPTED = "interrupted"


FINAL_ENDINGS = frozenset(
    {Ending.OK, Ending.FAILED, Ending.UNREACHABLE, Ending.NOT_ATTEMPTED, Ending.INTERRUPTED}
)


def plain(states: Iterable[StrEnum]) -> list[str]:
    """Their words alone: a migration names no class of ours."""
    return [str(state) for state in states]
