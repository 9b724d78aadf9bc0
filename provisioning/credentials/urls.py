"""Addresses of credentials."""

from __future__ import annotations

from django.urls import path

from provisioning.credentials import views

app_name = "credentials"
urlpatterns = [
    path("", views.credentials_list, name="list"),
    path("set", views.credential_set, name="set"),
    path("<slug:name>/remove", views.credential_remove, name="remove"),
]
