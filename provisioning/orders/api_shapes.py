"""What does the API tell of orders and clusters? Shapes in and out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from provisioning.contracts import OrderKind, StepState, VerdictValue
from provisioning.fleet.states import ClusterState, NodeState
from provisioning.orders.states import OrderState

VERDICTS = [verdict.value for verdict in VerdictValue]


class NodeInUseOutput(serializers.Serializer[Any]):
    """A node of an order or a cluster."""

    name = serializers.CharField()
    address = serializers.CharField()
    gpus = serializers.IntegerField()
    rack = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=[state.value for state in NodeState], source="status")
    simulated = serializers.BooleanField()
    verdict = serializers.ChoiceField(choices=VERDICTS, allow_null=True)
    verdict_at = serializers.DateTimeField(allow_null=True)
    speed = serializers.FloatField(allow_null=True)


class StepOutput(serializers.Serializer[Any]):
    """One step: `done` of `total` nodes."""

    name = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in StepState])
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    job = serializers.CharField(source="job_ref", allow_blank=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class SwapOutput(serializers.Serializer[Any]):
    """A node that was replaced, and why."""

    old = serializers.CharField()
    new = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class OrderOutput(serializers.Serializer[Any]):
    """An order. `progress` is in [0, 1]; `now` says what happens at this moment."""

    ref = serializers.CharField()
    kind = serializers.ChoiceField(choices=[kind.value for kind in OrderKind])
    requested_for = serializers.CharField(allow_blank=True)
    team = serializers.CharField(allow_blank=True)
    sku = serializers.CharField()
    nodes = serializers.IntegerField()
    state = serializers.ChoiceField(choices=[state.value for state in OrderState], source="status")
    is_final = serializers.BooleanField()
    progress = serializers.FloatField()
    now = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    cluster = serializers.CharField(source="cluster_ref", allow_blank=True)
    placed_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    steps = StepOutput(many=True)
    members = NodeInUseOutput(many=True, source="node_views")
    swaps = SwapOutput(many=True)


class ClusterOutput(serializers.Serializer[Any]):
    """A cluster. `speed` is that of its slowest node; `busbw_gbps` the all-reduce of all nodes together."""

    ref = serializers.CharField()
    name = serializers.CharField()
    team = serializers.CharField()
    sku = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in ClusterState], source="status")
    gpus = serializers.IntegerField()
    lease_end = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    ready_at = serializers.DateTimeField(allow_null=True)
    order = serializers.CharField(source="order_ref", allow_blank=True)
    verdict = serializers.ChoiceField(choices=VERDICTS, allow_null=True)
    speed = serializers.FloatField(allow_null=True)
    slowest_node = serializers.CharField(allow_blank=True)
    gpu_hours_lost_per_day = serializers.FloatField(allow_null=True)
    busbw_gbps = serializers.FloatField(allow_null=True)
    simulated = serializers.BooleanField()
    connect = serializers.ListField(child=serializers.CharField())
    members = NodeInUseOutput(many=True, source="nodes")


class ReasonInput(serializers.Serializer[Any]):
    """Why."""

    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")
