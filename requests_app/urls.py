"""Addresses of this house: one include per room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from requests_app.blocks.urls import owed_urlpatterns
from requests_app.catalogue.urls import urlpatterns as catalogue_urlpatterns
from requests_app.priority.urls import policy_urlpatterns
from requests_app.tickets.urls import request_urlpatterns
from requests_app.workarounds.views import grant

urlpatterns: list[URLPattern | URLResolver] = [
    path("catalogue/", include(([*catalogue_urlpatterns, *request_urlpatterns], "catalogue"))),
    path("", include("requests_app.outcome.urls")),
    path("tickets/<str:ref>/workarounds/", grant, name="grant-workaround"),
    path("workarounds/", include("requests_app.workarounds.urls")),
    path("debt/", include("requests_app.workarounds.debt_urls")),
    path("", include("requests_app.negotiation.urls")),
    path("tickets/", include("requests_app.tickets.urls")),
    path("tickets/", include("requests_app.relations.urls")),
    path("desk/clocks/", include("requests_app.clocks.urls")),
    path("tickets/", include("requests_app.blocks.urls")),
    path("tickets/", include("requests_app.priority.urls")),
    path("owed/", include((owed_urlpatterns, "owed"))),
    path("desk/policy/", include((policy_urlpatterns, "policy"))),
    path("desk/", include("requests_app.triage.urls")),
    path("search/", include("requests_app.search.urls")),
    path("quotas/", include("requests_app.quotas.urls")),
]
