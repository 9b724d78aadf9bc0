"""What does the API say of jobs, and what may it be told? Shapes alone."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from portal.kernel.refs import format_ref
from provisioning.jobs import draining, forcing, queries, services
from provisioning.jobs.models import Job, JobEvent, NodeLease
from provisioning.jobs.states import Ending, JobState, Reason
from provisioning.jobs.whole_view import HostView, WaveView


class JobOutput(serializers.Serializer[Job]):
    """A job. `why` says what it waits for or how it ended; `order` is empty for one that belongs to none.

    `whole` is set for a shard: the job that it is part of. Lists show the whole, not its shards. `forks` is how many nodes its
    attempt works on at once, null before it has begun and for a whole.
    """

    ref = serializers.CharField()
    playbook = serializers.CharField()
    purpose = serializers.CharField()
    state = serializers.ChoiceField(choices=[str(state) for state in JobState], source="status")
    reason = serializers.ChoiceField(choices=[str(reason) for reason in Reason], allow_blank=True)
    why = serializers.SerializerMethodField()
    order = serializers.SerializerMethodField()
    whole = serializers.SerializerMethodField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    forks = serializers.IntegerField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(allow_null=True)
    forced_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)

    def get_why(self, job: Job) -> str:
        """One sentence."""
        return queries.say_why(job)

    def get_order(self, job: Job) -> str:
        """`O-12`, or empty."""
        return "" if job.order is None else job.order.ref

    def get_whole(self, job: Job) -> str:
        """`J-12`, or empty."""
        return "" if job.whole_id is None else format_ref("J", job.whole_id)


class HostOutput(serializers.Serializer[HostView]):
    """How the job goes on one node; `first_failure_counter` is the event's number in the log of `job`.

    `job` is the job itself, or for one that was cut into shards the shard that had the node last.

    `draining_since`: the job was stopped and the node was not seen quiet yet, so that no other job gets it.
    """

    node = serializers.CharField(source="node.name")
    job = serializers.CharField()
    ending = serializers.ChoiceField(choices=[str(ending) for ending in Ending])
    tasks_done = serializers.IntegerField()
    changed = serializers.IntegerField()
    last_task = serializers.CharField(allow_blank=True)
    first_failure = serializers.CharField(allow_blank=True)
    first_failure_counter = serializers.IntegerField(allow_null=True)
    draining_since = serializers.DateTimeField(allow_null=True)


class ProgressOutput(serializers.Serializer[Any]):
    """Tasks done on nodes, of those expected; null when nobody knows how many."""

    done = serializers.IntegerField()
    expected = serializers.IntegerField(allow_null=True)


class ShardOutput(serializers.Serializer[Job]):
    """A part of a job that one worker gets at once; its log is at `/jobs/REF/events`."""

    ref = serializers.CharField()
    state = serializers.ChoiceField(choices=[str(state) for state in JobState], source="status")
    why = serializers.SerializerMethodField()
    nodes = serializers.IntegerField()

    def get_why(self, job: Job) -> str:
        """One sentence."""
        return queries.say_why(job)


class WaveOutput(serializers.Serializer[WaveView]):
    """Nodes that are done before the next ones begin. `may_fail` null: whatever fails, it goes on."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=["done", "now", "later"])
    nodes = serializers.IntegerField()
    ok = serializers.IntegerField()
    bad = serializers.IntegerField()
    may_fail = serializers.IntegerField(allow_null=True)
    shards = ShardOutput(many=True)


class JobDetailOutput(JobOutput):
    """A job with a hundred of its nodes; `waves` is empty for one that one worker runs at once.

    `endings` counts all nodes by ending; `nodes_next` is what to ask the next hundred `nodes_after`, empty at the end.
    """

    endings = serializers.DictField(child=serializers.IntegerField(), source="seen.hosts.counts")
    nodes = HostOutput(many=True, source="seen.hosts.rows")
    nodes_next = serializers.CharField(source="seen.hosts.next", allow_blank=True)
    progress = ProgressOutput(source="seen.progress")
    waves = WaveOutput(many=True, source="seen.waves")


class EventOutput(serializers.Serializer[JobEvent]):
    """One thing the playbook said; `text` may hold terminal colours, `truncated` says that part of it was left out."""

    counter = serializers.IntegerField()
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    node = serializers.CharField(source="host", allow_blank=True)
    play = serializers.CharField(allow_blank=True)
    task = serializers.CharField(allow_blank=True)
    changed = serializers.BooleanField()
    failed = serializers.BooleanField()
    text = serializers.CharField(allow_blank=True)
    details = serializers.JSONField(source="data")
    truncated = serializers.BooleanField()


class EventsOutput(serializers.Serializer[Any]):
    """Events in order. Ask again with `after=last` until `ended` is true."""

    attempt = serializers.IntegerField()
    last = serializers.IntegerField()
    ended = serializers.BooleanField()
    events = EventOutput(many=True)


class CancelInput(serializers.Serializer[Any]):
    """Why it is stopped. `force` asks nobody: it ends the job now, also when its worker does not answer, and needs a reason."""

    force = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=services.LONGEST_REASON, default=""
    )


class CancelOutput(JobOutput):
    """The job, and in `answer` one sentence: what became of the wish to stop it."""

    answer = serializers.SerializerMethodField()

    def get_answer(self, job: Job) -> str:
        """One sentence."""
        return forcing.say_stopped(job)


class ResumeInput(serializers.Serializer[Any]):
    """`again`: the nodes that failed are run once more, before the rest."""

    again = serializers.BooleanField(required=False, default=False)


class QuietInput(serializers.Serializer[Any]):
    """How the operator knows that nothing of the ended job runs on the node."""

    reason = serializers.CharField(max_length=draining.LONGEST_REASON)


class QuietOutput(serializers.Serializer[NodeLease]):
    """The node is free of `job`."""

    node = serializers.CharField(source="node.name")
    job = serializers.CharField(source="job.ref")
