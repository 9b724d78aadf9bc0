"""The API of the fleet: nodes, SKUs and capacity."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import NotFound
from provisioning.contracts import Capacity, SkuView, VerdictValue
from provisioning.fleet import listing, services
from provisioning.fleet.access import check_operates
from provisioning.fleet.models import Hold, Node
from provisioning.fleet.queries import capacities, sku_views
from provisioning.fleet.states import NodeState

READ = Scope.FLEET_READ.value
RUN = Scope.PROVISION_EXECUTE.value
VERDICTS = [verdict.value for verdict in VerdictValue]


class NodeOutput(serializers.Serializer[Node]):
    """A node. `speed` is node/baseline of its slowest metric; null: never measured."""

    name = serializers.CharField()
    address = serializers.CharField()
    sku = serializers.CharField(source="sku.slug")
    gpus = serializers.IntegerField(source="sku.gpus_per_node")
    rack = serializers.SerializerMethodField()
    site = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=[state.value for state in NodeState], source="status")
    on_hold = serializers.BooleanField()
    spare = serializers.BooleanField()
    simulated = serializers.BooleanField()
    verdict = serializers.ChoiceField(choices=VERDICTS, allow_null=True)
    verdict_at = serializers.DateTimeField(allow_null=True)
    speed = serializers.FloatField(allow_null=True)

    def get_rack(self, node: Node) -> str:
        """Its name, or empty."""
        return node.rack.name if node.rack else ""


class HoldOutput(serializers.Serializer[Hold]):
    """A reason for a node to be out of service."""

    owner = serializers.CharField()
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    evidence = serializers.JSONField()
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class DrainingOutput(serializers.Serializer[Any]):
    """An ended job of which something may still run on the node; `said` is what the last look at it found."""

    since = serializers.DateTimeField(source="draining_since")
    job = serializers.CharField(source="job.ref")
    because = serializers.CharField(source="drain_because")
    looks = serializers.IntegerField(source="probes")
    said = serializers.CharField(source="probe_said", allow_blank=True)


class NodeDetailOutput(NodeOutput):
    """A node with its holds and what drains on it, for infra staff; others see an empty list and null."""

    facts = serializers.JSONField()
    holds = serializers.SerializerMethodField()
    draining = serializers.SerializerMethodField()

    @extend_schema(responses=DrainingOutput(allow_null=True))
    def get_draining(self, node: Node) -> Any:
        """Null when the node is quiet."""
        if not self.context["is_infra"]:
            return None
        lease = node.job_leases.filter(released_at=None, draining_since__isnull=False).first()
        return None if lease is None else DrainingOutput(lease).data

    @extend_schema(responses=HoldOutput(many=True))
    def get_holds(self, node: Node) -> Any:
        """Newest first."""
        if not self.context["is_infra"]:
            return []
        holds: Any = node.holds.all()[:50]
        return HoldOutput(holds, many=True).data


class HoldInput(serializers.Serializer[Any]):
    """Why the node leaves the pool."""

    reason = serializers.CharField(max_length=500)


class SkuOutput(serializers.Serializer[SkuView]):
    """A kind of node; memory is per GPU."""

    slug = serializers.CharField()
    name = serializers.CharField()
    gpu_model = serializers.CharField()
    gpus_per_node = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    driver_version = serializers.CharField(allow_blank=True)


class CapacityOutput(serializers.Serializer[Capacity]):
    """Nodes of a SKU by what can be done with them now; `out` by `reasons`."""

    sku = serializers.CharField()
    gpus_per_node = serializers.IntegerField()
    total = serializers.IntegerField()
    free = serializers.IntegerField()
    most_at_once = serializers.IntegerField(
        help_text="Most nodes of one order: a cluster stands at one site."
    )
    reserved = serializers.IntegerField()
    in_use = serializers.IntegerField()
    out = serializers.IntegerField()
    spares = serializers.IntegerField()
    next_free_at = serializers.DateTimeField(allow_null=True)
    reasons = serializers.DictField(child=serializers.IntegerField())


class Nodes(generics.ListAPIView[Node]):
    """The nodes the person may see."""

    serializer_class = NodeOutput
    queryset = Node.objects.none()
    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"state", "sku", "rack", "site", "q"})
    page_order = ("name", "id")

    @extend_schema(
        operation_id="nodes_list",
        parameters=[
            OpenApiParameter("state", str, enum=[*(state.value for state in NodeState), listing.OUT]),
            OpenApiParameter("sku", str),
            OpenApiParameter("rack", str),
            OpenApiParameter("site", str),
            OpenApiParameter("q", str, description="Part of the name, or beginning of the address."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of nodes by name; infra staff see all, others those of their teams' clusters."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Node]:
        """Narrowed by the filters."""
        wanted = listing.NodeFilter.read(self.request.query_params.dict())
        return listing.nodes_of(signed_in(self.request), wanted)


class NodeDetail(APIView):
    """One node."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="nodes_show", responses=NodeDetailOutput)
    def get(self, request: Request, name: str) -> Response:
        """The node; 404 for one that isn't the person's to see."""
        user = signed_in(request)
        node = listing.node_by_name(user, name)
        return Response(NodeDetailOutput(node, context={"is_infra": user.is_infra}).data)


class NodeHold(APIView):
    """Take a node out of the pool."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="nodes_hold", request=HoldInput, responses=NodeDetailOutput)
    def post(self, request: Request, name: str) -> Response:
        """An operator's: a node that a team uses leaves the pool when the team gives it back."""
        user = signed_in(request)
        node = listing.node_by_name(user, name)
        check_operates(user)
        told = HoldInput(data=request.data)
        told.is_valid(raise_exception=True)
        reason = told.validated_data["reason"]
        services.quarantine_node(node=node, reason_code="by-hand", reason=reason, owner="operator", by=user)
        again = listing.node_by_name(user, name)
        return Response(NodeDetailOutput(again, context={"is_infra": user.is_infra}).data)


class Skus(APIView):
    """Kinds of node."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="skus_list", responses=SkuOutput(many=True))
    def get(self, request: Request) -> Response:
        """Every SKU by slug."""
        skus: Any = sku_views()
        return Response(SkuOutput(skus, many=True).data)


class CapacityOfAll(APIView):
    """What can be had now."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="capacity_list", responses=CapacityOutput(many=True))
    def get(self, request: Request) -> Response:
        """Capacity of every SKU by slug."""
        found: Any = list(capacities().values())
        return Response(CapacityOutput(found, many=True).data)


class CapacityOfOne(APIView):
    """What can be had of one SKU now."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="capacity_show", responses=CapacityOutput)
    def get(self, request: Request, sku: str) -> Response:
        """404 for a SKU that there is not."""
        found = capacities().get(sku)
        if found is None:
            raise NotFound("There is no such SKU.")
        return Response(CapacityOutput(found).data)


urlpatterns = [
    path("nodes", Nodes.as_view(), name="nodes"),
    path("nodes/<str:name>", NodeDetail.as_view(), name="node"),
    path("nodes/<str:name>/hold", NodeHold.as_view(), name="node-hold"),
    path("skus", Skus.as_view(), name="skus"),
    path("capacity", CapacityOfAll.as_view(), name="capacities"),
    path("capacity/<str:sku>", CapacityOfOne.as_view(), name="capacity"),
]
