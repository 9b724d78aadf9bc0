"""Quotas for API clients: what a team may hold and holds, in GPUs; NULL is unlimited, 0 is none."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from requests_app.quotas.models import Quota


class QuotaOutput(serializers.ModelSerializer[Quota]):
    """One quota."""

    team = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    limit_gpus = serializers.IntegerField(source="limit", allow_null=True)
    used_gpus = serializers.IntegerField(source="used")
    held_gpus = serializers.IntegerField(source="held")
    left_gpus = serializers.IntegerField(source="room.left", allow_null=True)

    class Meta:
        model = Quota
        fields = ("team", "sku", "limit_gpus", "used_gpus", "held_gpus", "left_gpus")
        read_only_fields = fields


class QuotaList(generics.ListAPIView[Quota]):
    """Quotas of the caller's teams; of all for infra staff."""

    serializer_class = QuotaOutput
    required_scopes = {"GET": "quota:read"}
    allowed_filters = frozenset({"team", "sku"})
    page_order = ("id",)
    queryset = Quota.objects.none()

    def get_queryset(self) -> QuerySet[Quota]:
        """Scoped, then filtered."""
        rows = Quota.objects.visible_to(self.request.user).select_related("team")
        wanted = {"team": "team__slug", "sku": "sku"}
        given = {wanted[name]: text for name, text in self.request.query_params.items() if name in wanted}
        return rows.filter(**given)

    @extend_schema(
        operation_id="list_quotas",
        parameters=[OpenApiParameter("team", str), OpenApiParameter("sku", str)],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of quotas."""
        return super().get(request, *args, **kwargs)


urlpatterns = [path("quotas", QuotaList.as_view(), name="quotas")]
