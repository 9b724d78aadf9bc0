"""The API of jobs: lists, one job with its nodes, its events after a counter, stopping and relaunching."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from provisioning.fleet.listing import node_by_name
from provisioning.jobs import draining, queries, services
from provisioning.jobs.api_shapes import (
    CancelInput,
    CancelOutput,
    EventsOutput,
    JobDetailOutput,
    JobOutput,
    QuietInput,
    QuietOutput,
    ResumeInput,
)
from provisioning.jobs.host_table import CHOICES, Wanted
from provisioning.jobs.models import Job
from provisioning.jobs.states import REASONS

READ = Scope.REQUESTS_READ.value
RUN = Scope.PROVISION_EXECUTE.value
EVENTS_AT_ONCE = 500


class Jobs(generics.ListAPIView[Job]):
    """The jobs the person may see."""

    serializer_class = JobOutput
    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"state", "reason"})

    @extend_schema(
        operation_id="jobs_list",
        parameters=[
            OpenApiParameter("state", str, enum=queries.STATES),
            OpenApiParameter("reason", str, enum=[str(reason) for reason in REASONS]),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of jobs, newest first; `state` is one state, or `active`, `attention` or `ended`; `reason` why they ended."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Job]:
        """All for infra staff, those of their teams' orders for everybody else."""
        told = self.request.query_params
        user = signed_in(self.request)
        return queries.jobs_of(user, state=told.get("state", ""), reason=told.get("reason", ""))


class JobDetail(APIView):
    """One job."""

    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"ending", "nodes_after"})

    @extend_schema(
        operation_id="jobs_show",
        parameters=[
            OpenApiParameter("ending", str, enum=list(CHOICES)),
            OpenApiParameter("nodes_after", str),
        ],
        responses=JobDetailOutput,
    )
    def get(self, request: Request, ref: str) -> Response:
        """The job with a hundred of its nodes by name, all, those of one `ending` or what is `not_ok`; 404 for one that isn't the person's to see.

        `endings` counts all of its nodes. For the next hundred ask again with `nodes_after` as `nodes_next` says.
        """
        _refuse_unknown(request, self.allowed_filters)
        job = queries.job_by_ref(signed_in(request), ref)
        vars(job)["seen"] = queries.seen(job, Wanted.read(request.query_params.dict()))
        return Response(JobDetailOutput(job).data)


class JobEvents(APIView):
    """The log of a job."""

    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"after", "attempt"})

    @extend_schema(
        operation_id="jobs_events_list",
        parameters=[OpenApiParameter("after", int), OpenApiParameter("attempt", int)],
        responses=EventsOutput,
    )
    def get(self, request: Request, ref: str) -> Response:
        """At most 500 events after the counter `after`, of the last attempt unless another is named."""
        _refuse_unknown(request, self.allowed_filters)
        job = queries.job_by_ref(signed_in(request), ref)
        latest = max(job.attempt, 1)
        attempt = _number(request, "attempt", latest)
        if not 1 <= attempt <= latest:
            raise NotFound(f"{job.ref} has no attempt {attempt}.")
        after = _number(request, "after", 0)
        found = list(queries.events_after(job, attempt, after)[: EVENTS_AT_ONCE + 1])
        shown = found[:EVENTS_AT_ONCE]
        over = job.is_ended or attempt < job.attempt
        answer = {
            "attempt": attempt,
            "last": shown[-1].counter if shown else after,
            "ended": over and len(found) == len(shown),
            "events": shown,
        }
        return Response(EventsOutput(answer).data)


class CancelJob(APIView):
    """Stop a job."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="jobs_cancel", request=CancelInput, responses=CancelOutput)
    def post(self, request: Request, ref: str) -> Response:
        """An operator's: ends a queued job now, asks the worker of a running one; twice is the same as once.

        With `force` any job ends now, whoever holds it; its nodes drain until they are seen quiet.
        """
        told = CancelInput(data=request.data)
        told.is_valid(raise_exception=True)
        user, reason = signed_in(request), told.validated_data["reason"]
        job = queries.job_by_ref(user, ref)
        stop = services.force_stop if told.validated_data["force"] else services.cancel_job
        return Response(CancelOutput(stop(job, reason=reason, by=user)).data)


class RelaunchJob(APIView):
    """Run a job again where it did not end well."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="jobs_relaunch", request=None, responses={201: JobOutput})
    def post(self, request: Request, ref: str) -> Response:
        """An operator's: a new job on exactly the nodes that are not ok."""
        job = queries.job_by_ref(signed_in(request), ref)
        again = services.relaunch_remaining(job, by=signed_in(request))
        return Response(JobOutput(again).data, status=status.HTTP_201_CREATED)


class ResumeJob(APIView):
    """Go on with a job that paused because the budget of a wave was spent."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="jobs_resume", request=ResumeInput, responses=JobOutput)
    def post(self, request: Request, ref: str) -> Response:
        """An operator's: the nodes that remain are run, wave by wave."""
        told = ResumeInput(data=request.data)
        told.is_valid(raise_exception=True)
        job = queries.job_by_ref(signed_in(request), ref)
        found = services.resume_job(job, again=told.validated_data["again"], by=signed_in(request))
        return Response(JobOutput(found).data)


class DeclareQuiet(APIView):
    """Say by hand that a draining node is quiet."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="nodes_declare_quiet", request=QuietInput, responses=QuietOutput)
    def post(self, request: Request, name: str) -> Response:
        """An operator's, for a node that can't be reached: the next job will run on it."""
        told = QuietInput(data=request.data)
        told.is_valid(raise_exception=True)
        node = node_by_name(signed_in(request), name)
        lease = draining.declare_quiet(node.name, reason=told.validated_data["reason"], by=signed_in(request))
        return Response(QuietOutput(lease).data)


def _refuse_unknown(request: Request, known: frozenset[str]) -> None:
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise Invalid(
            {name: [f"There is no such filter here. Known: {', '.join(sorted(known))}."] for name in unknown}
        )


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise Invalid({name: ["Use a whole number."]})
    return int(text)


urlpatterns = [
    path("jobs/<str:ref>", JobDetail.as_view(), name="job"),
    path("jobs/<str:ref>/events", JobEvents.as_view(), name="job-events"),
    path("jobs/<str:ref>/resume", ResumeJob.as_view(), name="job-resume"),
    path("jobs/<str:ref>/cancel", CancelJob.as_view(), name="job-cancel"),
    path("nodes/<str:name>/quiet", DeclareQuiet.as_view(), name="node-quiet"),
    path("jobs/<str:ref>/relaunch", RelaunchJob.as_view(), name="job-relaunch"),
]
