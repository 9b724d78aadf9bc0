"""Addresses of the operators' pages."""

from __future__ import annotations

from django.urls import path

from provisioning.workers import views

app_name = "workers"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("capacity/", views.capacity, name="capacity"),
]
