"""Addresses of schedules."""

from __future__ import annotations

from django.urls import path

from provisioning.schedules import views

app_name = "schedules"
urlpatterns = [
    path("", views.schedules_list, name="list"),
    path("set", views.schedule_set, name="set"),
    path("<slug:name>/remove", views.schedule_remove, name="remove"),
]
