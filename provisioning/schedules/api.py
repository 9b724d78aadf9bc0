"""The API of schedules: which there are, set one, remove one."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from provisioning.schedules import services
from provisioning.schedules.models import Schedule
from provisioning.schedules.views import find

READ = Scope.FLEET_READ.value
RUN = Scope.PROVISION_EXECUTE.value


class ScheduleOutput(serializers.Serializer[Schedule]):
    """A schedule; `days` are weekdays, Monday is 0, none means every day. `next_at` is null while it rests."""

    name = serializers.CharField()
    playbook = serializers.CharField()
    sku = serializers.SerializerMethodField()
    at = serializers.TimeField()
    zone = serializers.CharField()
    days = serializers.ListField(child=serializers.IntegerField())
    at_once = serializers.IntegerField()
    enabled = serializers.BooleanField()
    next_at = serializers.DateTimeField(allow_null=True)

    def get_sku(self, schedule: Schedule) -> str:
        """Empty for all."""
        return "" if schedule.sku is None else schedule.sku.slug


class ScheduleInput(serializers.Serializer[Any]):
    """What sets a schedule; one of this name is changed."""

    name = serializers.SlugField(max_length=60)
    playbook = serializers.ChoiceField(choices=services.PLAYBOOKS, default="validate_node")
    sku = serializers.CharField(required=False, allow_blank=True, default="")
    at = serializers.TimeField()
    zone = serializers.CharField(max_length=60)
    days = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=6), required=False, default=list
    )
    at_once = serializers.IntegerField(min_value=1, max_value=services.MOST_AT_ONCE, default=4)
    enabled = serializers.BooleanField(default=True)


class Schedules(generics.ListAPIView[Schedule]):
    """What runs by itself."""

    serializer_class = ScheduleOutput
    required_scopes = {"GET": READ, "POST": RUN}

    @extend_schema(operation_id="schedules_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of schedules; empty for everybody but infra staff."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Schedule]:
        """Newest first."""
        rows: QuerySet[Schedule] = Schedule.objects.visible_to(signed_in(self.request))
        return rows.select_related("sku").order_by("-id")

    @extend_schema(operation_id="schedules_set", request=ScheduleInput, responses={201: ScheduleOutput})
    def post(self, request: Request) -> Response:
        """An operator's: make it or change it."""
        told = ScheduleInput(data=request.data)
        told.is_valid(raise_exception=True)
        schedule = services.set_schedule(**told.validated_data, by=signed_in(request))
        return Response(ScheduleOutput(schedule).data, status=status.HTTP_201_CREATED)


class ScheduleDetail(APIView):
    """One schedule."""

    required_scopes = {"DELETE": RUN}

    @extend_schema(operation_id="schedules_remove", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """An operator's: remove it."""
        services.remove_schedule(find(request._request, name), by=signed_in(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("schedules", Schedules.as_view(), name="schedules"),
    path("schedules/<slug:name>", ScheduleDetail.as_view(), name="schedule"),
]
