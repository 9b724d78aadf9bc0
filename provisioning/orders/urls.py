"""Addresses of orders, of the clusters they make, and of rechecks."""

from __future__ import annotations

from django.urls import path

from provisioning.orders import views

app_name = "orders"
urlpatterns = [
    path("", views.orders_list, name="list"),
    path("recheck/<str:name>", views.node_recheck, name="recheck"),
    path("<str:ref>/", views.order_detail, name="detail"),
    path("<str:ref>/cancel", views.order_cancel, name="cancel"),
]
cluster_urlpatterns = [
    path("", views.clusters_list, name="list"),
    path("<str:ref>/", views.cluster_detail, name="detail"),
    path("<str:ref>/lease", views.cluster_lease, name="lease"),
    path("<str:ref>/release", views.cluster_release, name="release"),
]
