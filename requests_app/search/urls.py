"""Addresses of the search."""

from __future__ import annotations

from django.urls import path

from requests_app.search import views

app_name = "search"
urlpatterns = [path("", views.page, name="page")]
