"""The API of workers: who is there, how much room there is by site, and what waits behind which node."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from provisioning.jobs.models import Job
from provisioning.workers import queries, room

READ = Scope.FLEET_READ.value
STATES = ("active", "lost", "released")


class HeldOutput(serializers.Serializer[Job]):
    """A job that a worker has; `forks` is how many nodes it talks to at once."""

    ref = serializers.CharField()
    queue = serializers.CharField()
    lease_until = serializers.DateTimeField(allow_null=True)
    forks = serializers.IntegerField(allow_null=True)


class WorkerOutput(serializers.Serializer[queries.WorkerView]):
    """A worker of the last day. `lost` was not heard of lately, `released` said goodbye; sizes are null until it tells them."""

    name = serializers.CharField(source="worker.name")
    state = serializers.ChoiceField(choices=STATES)
    queues = serializers.ListField(child=serializers.CharField(), source="worker.queues")
    slots = serializers.IntegerField(source="worker.slots")
    free = serializers.IntegerField()
    cores = serializers.IntegerField(source="worker.cores", allow_null=True)
    memory_mib = serializers.IntegerField(source="worker.memory_mib", allow_null=True)
    free_mib = serializers.IntegerField(source="worker.free_mib", allow_null=True)
    seen_at = serializers.DateTimeField(source="worker.seen_at")
    jobs = HeldOutput(many=True)


class StartOutput(serializers.Serializer[Any]):
    """When an ordinary job that is asked for now would start, in seconds; null when nobody can tell. `says` is how it was computed."""

    usual = serializers.FloatField(allow_null=True)
    late = serializers.FloatField(allow_null=True)
    says = serializers.CharField()


class QueueOutput(serializers.Serializer[room.Room]):
    """A queue of jobs at a site, empty for the one without a name.

    `waiting` wait for a slot, `blocked` for a node, `sweeps` run behind both. `kept` slots are for jobs that unblock a team.
    `fork_room` is what cores bear, `fork_most` what memory bears of forks that only wait.
    """

    site = serializers.CharField(allow_blank=True)
    queue = serializers.CharField()
    workers = serializers.IntegerField()
    slots = serializers.IntegerField(allow_null=True)
    taken = serializers.IntegerField()
    free = serializers.IntegerField()
    kept = serializers.IntegerField()
    waiting = serializers.IntegerField()
    blocked = serializers.IntegerField()
    sweeps = serializers.IntegerField()
    forks = serializers.IntegerField()
    fork_room = serializers.IntegerField(allow_null=True)
    fork_most = serializers.IntegerField(allow_null=True)
    start = StartOutput()


class NodeQueueOutput(serializers.Serializer[queries.NodeQueue]):
    """A node that jobs wait for: who has it, in words, how many wait, and the first of them in order."""

    node = serializers.CharField()
    held = serializers.CharField(allow_blank=True)
    waiting = serializers.IntegerField()
    first = serializers.ListField(child=serializers.CharField())


class Workers(APIView):
    """Who can run jobs."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="workers_list", responses=WorkerOutput(many=True))
    def get(self, request: Request) -> Response:
        """Workers of the last day with what they hold; empty for everybody but infra staff."""
        found: Any = queries.workers() if signed_in(request).is_infra else []
        return Response(WorkerOutput(found, many=True).data)


class Queues(APIView):
    """How much room there is."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="queues_list", responses=QueueOutput(many=True))
    def get(self, request: Request) -> Response:
        """Slots, forks, who waits and about how long, by queue; empty for everybody but infra staff."""
        found: Any = room.rooms() if signed_in(request).is_infra else []
        return Response(QueueOutput(found, many=True).data)


class NodeQueues(APIView):
    """What waits behind which node."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="queues_nodes_list", responses=NodeQueueOutput(many=True))
    def get(self, request: Request) -> Response:
        """The hundred nodes with the longest queues; empty for everybody but infra staff."""
        found: Any = queries.node_queues() if signed_in(request).is_infra else []
        return Response(NodeQueueOutput(found, many=True).data)


urlpatterns = [
    path("workers", Workers.as_view(), name="workers"),
    path("queues", Queues.as_view(), name="queues"),
    path("queues/nodes", NodeQueues.as_view(), name="node-queues"),
]
