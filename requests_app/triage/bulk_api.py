"""Bulk actions for API clients: 202 at once, then progress, then a report of every row."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path, reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from requests_app.tickets.deciders import only_triagers
from requests_app.triage import bulk, tasks
from requests_app.triage.models import BulkRow, BulkRun, RowEnd

SCOPES = {"GET": "requests:read", "POST": "triage:write"}


class BulkOutput(serializers.ModelSerializer[BulkRun]):
    """A bulk action and how far it is: `total` rows were frozen, `left` are to go."""

    state = serializers.CharField(source="status")
    by = serializers.CharField(source="by.username")
    filters = serializers.DictField(child=serializers.CharField())
    arguments = serializers.DictField(child=serializers.CharField())
    done = serializers.IntegerField(source="told.done")
    failed = serializers.IntegerField(source="told.failed")
    left = serializers.IntegerField(source="told.left")

    class Meta:
        model = BulkRun
        fields = (
            *("id", "state", "version", "verb", "arguments", "filters", "total", "done", "failed", "left"),
            *("by", "made_at", "ended_at"),
        )
        read_only_fields = fields


class BulkInput(serializers.Serializer[Any]):
    """What matches `filters` now, or of that only `refs`; `arguments` are those of the verb."""

    filters = serializers.DictField(
        child=serializers.CharField(max_length=200, allow_blank=True), required=False, default=dict
    )
    refs = serializers.ListField(
        child=serializers.CharField(max_length=24), required=False, default=list, max_length=10_000
    )
    verb = serializers.ChoiceField(choices=list(bulk.BULK_VERBS))
    arguments = serializers.DictField(
        child=serializers.CharField(max_length=5000, allow_null=True), required=False, default=dict
    )


class RowOutput(serializers.ModelSerializer[BulkRow]):
    """What became of one ticket; `said` is why it was left alone."""

    ref = serializers.CharField(source="ticket.ref")
    seen_version = serializers.IntegerField(source="seen")

    class Meta:
        model = BulkRow
        fields = ("ref", "seen_version", "ending", "said")
        read_only_fields = fields


def _told(run: BulkRun) -> dict[str, Any]:
    run.told = bulk.progress(run)  # type: ignore[attr-defined]  # the serializer reads it
    return dict(BulkOutput(run).data)


def _run(person: User, number: int) -> BulkRun:
    run = BulkRun.objects.visible_to(person).select_related("by").filter(pk=number).first()
    if run is None:
        raise NotFound("There is no such bulk action.")
    return run


class Bulk(APIView):
    """Doing one thing to many tickets."""

    required_scopes = SCOPES

    @extend_schema(operation_id="start_bulk_action", request=BulkInput, responses={202: BulkOutput})
    def post(self, request: Request) -> Response:
        """Freeze what matches and begin. An unknown filter is refused with 400, and nothing is done."""
        person = signed_in(request)
        only_triagers(person)
        given = BulkInput(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        bulk.check(data["verb"], data["arguments"])
        run = bulk.freeze(filters=data["filters"], refs=data["refs"], by=person)
        run = bulk.begin(
            run=run, version=run.version, verb=data["verb"], arguments=data["arguments"], by=person
        )
        tasks.ask_for(run.pk)
        where = reverse("api:desk-bulk-run", kwargs={"number": run.pk})
        return Response(_told(run), status=202, headers={"Location": where})


class BulkOne(APIView):
    """One bulk action."""

    required_scopes = SCOPES

    @extend_schema(operation_id="get_bulk_action", responses=BulkOutput)
    def get(self, request: Request, number: int) -> Response:
        """How far it is."""
        return Response(_told(_run(signed_in(request), number)))


class BulkStop(APIView):
    """Stopping a bulk action."""

    required_scopes = SCOPES

    @extend_schema(operation_id="stop_bulk_action", request=None, responses=BulkOutput)
    def post(self, request: Request, number: int) -> Response:
        """What is done stays done."""
        person = signed_in(request)
        return Response(_told(bulk.cancel(run=_run(person, number), by=person)))


class BulkRows(generics.ListAPIView[BulkRow]):
    """The rows of a bulk action."""

    serializer_class = RowOutput
    required_scopes = SCOPES
    allowed_filters = frozenset({"ending"})
    page_order = ("id",)
    queryset = BulkRow.objects.none()

    def get_queryset(self) -> QuerySet[BulkRow]:
        """Of a run that the caller may see."""
        run = _run(signed_in(self.request), self.kwargs["number"])
        rows = BulkRow.objects.filter(run=run).select_related("ticket")
        ending = self.request.query_params.get("ending", "")
        if ending and ending not in RowEnd.values:
            raise Invalid({"ending": [f"Choose one of: {', '.join(RowEnd.values)}."]})
        return rows.filter(ending=ending) if ending else rows

    @extend_schema(operation_id="list_bulk_rows", parameters=[OpenApiParameter("ending", str)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of rows in the order they are done."""
        return super().get(request, *args, **kwargs)


urlpatterns = [
    path("desk/bulk", Bulk.as_view(), name="desk-bulk"),
    path("desk/bulk/<int:number>", BulkOne.as_view(), name="desk-bulk-run"),
    path("desk/bulk/<int:number>/stop", BulkStop.as_view(), name="desk-bulk-stop"),
    path("desk/bulk/<int:number>/rows", BulkRows.as_view(), name="desk-bulk-rows"),
]
