"""Which door leads where? Mounts only."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from portal.shell import views

urlpatterns = [
    path("", views.home, name="home"),
    path("healthz", views.healthz, name="healthz"),
    path("theme", views.theme, name="theme"),
    path("looks/", views.looks, name="looks"),
    path("", include("portal.notify.urls")),
    path("", include("portal.accounts.urls")),
    path("", include("requests_app.urls")),
    path("", include("provisioning.urls")),
    path("api/v1/", include("portal.api.urls")),
    path("admin/", admin.site.urls),
]
