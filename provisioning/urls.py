"""Addresses of this house: one include per room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from provisioning.orders.urls import cluster_urlpatterns

urlpatterns: list[URLPattern | URLResolver] = [
    path("nodes/", include("provisioning.fleet.urls")),
    path("nodes/", include("provisioning.validation.urls")),
    path("clusters/", include((cluster_urlpatterns, "clusters"))),
    path("orders/", include("provisioning.orders.urls")),
    path("jobs/run/", include("provisioning.maintenance.urls")),
    path("jobs/", include("provisioning.jobs.urls")),
    path("workers/", include("provisioning.workers.urls")),
    path("schedules/", include("provisioning.schedules.urls")),
    path("credentials/", include("provisioning.credentials.urls")),
]
