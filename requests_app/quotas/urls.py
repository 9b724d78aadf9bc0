"""Addresses of quotas."""

from __future__ import annotations

from django.urls import path

from requests_app.quotas import views

app_name = "quotas"
urlpatterns = [path("", views.quotas, name="list")]
