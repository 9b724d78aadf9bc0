"""The v1 router: one include per room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularJSONAPIView

from portal.api.errors import unknown_address

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path("schema", SpectacularJSONAPIView.as_view(permission_classes=[]), name="schema"),
    path("schema.yaml", SpectacularAPIView.as_view(permission_classes=[]), name="schema-yaml"),
    path("", include("portal.accounts.api")),
    path("", include("provisioning.fleet.api")),
    path("", include("provisioning.orders.api")),
    path("", include("provisioning.jobs.api")),
    path("", include("provisioning.workers.api")),
    path("", include("provisioning.maintenance.api")),
    path("", include("provisioning.credentials.api")),
    path("", include("provisioning.schedules.api")),
    path("", include("provisioning.validation.api")),
    path("", include("requests_app.catalogue.api")),
    path("", include("requests_app.tickets.api")),
    path("", include("requests_app.conversation.api")),
    path("", include("portal.notify.api")),
    path("", include("requests_app.outcome.api")),
    path("", include("requests_app.outlook.api")),
    path("", include("requests_app.blocks.api")),
    path("", include("requests_app.priority.api")),
    path("", include("requests_app.workarounds.api")),
    path("", include("requests_app.workarounds.debt_api")),
    path("", include("requests_app.negotiation.api")),
    path("", include("requests_app.triage.api")),
    path("", include("requests_app.triage.desk_api")),
    path("", include("requests_app.triage.bulk_api")),
    path("", include("requests_app.relations.api")),
    path("", include("requests_app.search.api")),
    path("", include("requests_app.quotas.api")),
    re_path(r"^.*$", unknown_address),
]
