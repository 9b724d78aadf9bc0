"""The API of runs by hand: `POST /api/v1/jobs` starts one, with `preview` it only says how it would go."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from provisioning.fleet.listing import NodeFilter
from provisioning.jobs.api import Jobs
from provisioning.jobs.api_shapes import JobOutput
from provisioning.jobs.waves import MOST_STEPS
from provisioning.maintenance import services
from provisioning.maintenance.services import MOST_NODES, PreviewWave, Wanted


class SelectionInput(serializers.Serializer[Any]):
    """Nodes by what they are: all that are left out don't matter."""

    state = serializers.CharField(required=False, default="")
    sku = serializers.CharField(required=False, default="")
    rack = serializers.CharField(required=False, default="")
    site = serializers.CharField(required=False, default="")
    q = serializers.CharField(required=False, default="")


class WavesInput(serializers.Serializer[Any]):
    """A canary of so many nodes, cumulative percentages of all, and how many of a wave may fail: `"2"`, or `"5%"` rounded down."""

    canary = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_NODES)
    canary_budget = serializers.CharField(required=False, default="0", max_length=8)
    percentages = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=100),
        required=False,
        default=list,
        max_length=MOST_STEPS,
    )
    budget = serializers.CharField(required=False, default="0", max_length=8)


class RunInput(serializers.Serializer[Any]):
    """A run by hand. Either `nodes`, in the order in which they go, or `selection`. Without `waves` all nodes go at once.

    `in_turn`: in turn with what orders need, not only when there is room. `preview`: say how it would go, start nothing.
    """

    playbook = serializers.CharField(max_length=40)
    purpose = serializers.CharField(max_length=160)
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=253), required=False, default=list, max_length=MOST_NODES
    )
    selection = SelectionInput(required=False, allow_null=True, default=None)
    variables = serializers.DictField(required=False, default=dict)
    waves = WavesInput(required=False, allow_null=True, default=None)
    in_turn = serializers.BooleanField(required=False, default=False)
    preview = serializers.BooleanField(required=False, default=False)


class PreviewWaveOutput(serializers.Serializer[PreviewWave]):
    """A wave as it would go. `may_fail` null: whatever fails, it goes on."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    nodes = serializers.ListField(child=serializers.CharField())
    parts = serializers.IntegerField()
    may_fail = serializers.IntegerField(allow_null=True)


class PreviewOutput(serializers.Serializer[Any]):
    """How a run would go; nothing was started."""

    waves = PreviewWaveOutput(many=True)


class JobsAndRuns(Jobs):
    """The jobs, and new ones by hand."""

    required_scopes = {"GET": Scope.REQUESTS_READ.value, "POST": Scope.PROVISION_EXECUTE.value}

    @extend_schema(
        operation_id="jobs_start", request=RunInput, responses={200: PreviewOutput, 201: JobOutput}
    )
    def post(self, request: Request) -> Response:
        """An operator's: run a playbook that may be run by hand, on nodes that nobody uses unless it is harmless to them."""
        told = RunInput(data=request.data)
        told.is_valid(raise_exception=True)
        user = signed_in(request)
        try:
            wanted = _wanted(told.validated_data)
            if told.validated_data["preview"]:
                return Response(PreviewOutput(services.preview(wanted, by=user)).data)
            job = services.start_run(wanted, by=user)
        except Invalid as problem:
            fields = {_place(name): texts for name, texts in problem.fields.items()}
            raise Invalid(fields, problem.message) from problem
        return Response(JobOutput(job).data, status=status.HTTP_201_CREATED)


def _wanted(told: dict[str, Any]) -> Wanted:
    return Wanted(
        playbook=told["playbook"],
        purpose=told["purpose"],
        variables=told["variables"],
        names=told["nodes"],
        wanted=NodeFilter.read(told["selection"] or {}),
        asked=None if told["waves"] is None else services.read_waves(told["waves"]),
        in_turn=told["in_turn"],
    )


def _place(name: str) -> str:
    """Where in the body a field of the service is."""
    if name in RunInput().fields:
        return name
    for group, shape in (("waves", WavesInput), ("selection", SelectionInput)):
        if name in shape().fields:
            return f"{group}/{name}"
    return f"variables/{name}"


urlpatterns = [path("jobs", JobsAndRuns.as_view(), name="jobs")]
