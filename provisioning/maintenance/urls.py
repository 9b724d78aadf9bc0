"""The address of runs by hand."""

from __future__ import annotations

from django.urls import path

from provisioning.maintenance import views

app_name = "maintenance"
urlpatterns = [path("", views.run, name="run")]
