"""The API of orders and of the clusters they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from provisioning.contracts import OrderKind
from provisioning.fleet.access import check_operates
from provisioning.fleet.listing import LIVING, cluster_by_ref, clusters_of, node_by_name
from provisioning.fleet.models import Cluster
from provisioning.fleet.queries import held_by
from provisioning.fleet.states import ClusterState
from provisioning.fleet.telling import cluster_view
from provisioning.orders import listing, services
from provisioning.orders.access import check_steers
from provisioning.orders.api_shapes import ClusterOutput, OrderOutput, ReasonInput
from provisioning.orders.models import Order
from provisioning.orders.states import OrderState
from provisioning.orders.telling import order_views

READ = Scope.REQUESTS_READ.value
WRITE = Scope.REQUESTS_WRITE.value
RUN = Scope.PROVISION_EXECUTE.value


def _order_ref_of(clusters: Sequence[Cluster]) -> dict[int | None, str]:
    builds = Order.objects.filter(kind=OrderKind.BUILD, cluster__in=[cluster.pk for cluster in clusters])
    return {order.cluster_id: order.ref for order in builds}


def _tell_clusters(clusters: Sequence[Cluster]) -> Any:
    built = _order_ref_of(clusters)
    views = [
        cluster_view(each, [held.node for held in held_by(each)], order_ref=built.get(each.pk, ""))
        for each in clusters
    ]
    return ClusterOutput(views, many=True).data


def _tell_orders(orders: Sequence[Order]) -> Any:
    return OrderOutput(order_views(orders), many=True).data


class Clusters(generics.ListAPIView[Cluster]):
    """The clusters the person may see."""

    serializer_class = ClusterOutput
    queryset = Cluster.objects.none()
    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"state", "team", "sku"})

    @extend_schema(
        operation_id="clusters_list",
        parameters=[
            OpenApiParameter("state", str, enum=[*(state.value for state in ClusterState), LIVING]),
            OpenApiParameter("team", str),
            OpenApiParameter("sku", str),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of clusters, newest first."""
        told = {name: request.query_params.get(name, "") for name in self.allowed_filters}
        page = self.paginate_queryset(clusters_of(signed_in(request), **told))
        return self.get_paginated_response(_tell_clusters(page or []))


class ClusterDetail(APIView):
    """One cluster."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="clusters_show", responses=ClusterOutput)
    def get(self, request: Request, ref: str) -> Response:
        """The cluster with its nodes; 404 for one that isn't the person's to see."""
        return Response(_tell_clusters([cluster_by_ref(signed_in(request), ref)])[0])


class ReleaseCluster(APIView):
    """Give a cluster back."""

    required_scopes = {"POST": WRITE}

    @extend_schema(operation_id="clusters_release", request=ReasonInput, responses={202: OrderOutput})
    def post(self, request: Request, ref: str) -> Response:
        """A lead's or an operator's: drains, wipes and validates its nodes; answers with the order that does."""
        user = signed_in(request)
        cluster = cluster_by_ref(user, ref)
        check_steers(user, cluster.team)
        told = ReasonInput(data=request.data)
        told.is_valid(raise_exception=True)
        order = services.release_cluster(cluster=cluster, reason=told.validated_data["reason"], by=user)
        return _order(user, order.ref, status.HTTP_202_ACCEPTED)


class Orders(generics.ListAPIView[Order]):
    """The orders the person may see."""

    serializer_class = OrderOutput
    queryset = Order.objects.none()
    required_scopes = {"GET": READ}
    allowed_filters = frozenset({"state", "kind", "team"})

    @extend_schema(
        operation_id="orders_list",
        parameters=[
            OpenApiParameter("state", str, enum=[*(state.value for state in OrderState), listing.UNFINISHED]),
            OpenApiParameter("kind", str, enum=[kind.value for kind in OrderKind]),
            OpenApiParameter("team", str),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of orders, newest first."""
        told = {name: request.query_params.get(name, "") for name in self.allowed_filters}
        page = self.paginate_queryset(listing.orders_of(signed_in(request), **told))
        return self.get_paginated_response(_tell_orders(page or []))


class OrderDetail(APIView):
    """One order."""

    required_scopes = {"GET": READ}

    @extend_schema(operation_id="orders_show", responses=OrderOutput)
    def get(self, request: Request, ref: str) -> Response:
        """The order with its steps, nodes and swaps; 404 for one that isn't the person's to see."""
        return _order(signed_in(request), ref, status.HTTP_200_OK)


def _order(user: User, ref: str, code: int) -> Response:
    return Response(_tell_orders([listing.order_by_ref(user, ref)])[0], status=code)


class CancelOrder(APIView):
    """Stop an order."""

    required_scopes = {"POST": WRITE}

    @extend_schema(operation_id="orders_cancel", request=ReasonInput, responses=OrderOutput)
    def post(self, request: Request, ref: str) -> Response:
        """A lead's or an operator's: what was done to its nodes is undone by a clean-up order."""
        user = signed_in(request)
        order = listing.order_by_ref(user, ref)
        check_steers(user, order.team)
        told = ReasonInput(data=request.data)
        told.is_valid(raise_exception=True)
        services.cancel_order(order=order, reason=told.validated_data["reason"], by=user)
        return _order(user, ref, status.HTTP_200_OK)


class RecheckNode(APIView):
    """Let a node prove that it is fit."""

    required_scopes = {"POST": RUN}

    @extend_schema(operation_id="nodes_recheck", request=None, responses={202: OrderOutput})
    def post(self, request: Request, name: str) -> Response:
        """An operator's: wipes and validates a node in quarantine; answers with the order that does."""
        user = signed_in(request)
        node = node_by_name(user, name)
        check_operates(user)
        return _order(user, services.recheck_node(node=node, by=user).ref, status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("clusters", Clusters.as_view(), name="clusters"),
    path("clusters/<str:ref>", ClusterDetail.as_view(), name="cluster"),
    path("clusters/<str:ref>/release", ReleaseCluster.as_view(), name="cluster-release"),
    path("orders", Orders.as_view(), name="orders"),
    path("orders/<str:ref>", OrderDetail.as_view(), name="order"),
    path("orders/<str:ref>/cancel", CancelOrder.as_view(), name="order-cancel"),
    path("nodes/<str:name>/recheck", RecheckNode.as_view(), name="node-recheck"),
]
