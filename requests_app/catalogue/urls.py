"""Addresses of the catalogue; those of the form that files a ticket are in tickets.request_urls."""

from __future__ import annotations

from django.urls import path

from requests_app.catalogue import views

urlpatterns = [path("", views.catalogue, name="list")]
