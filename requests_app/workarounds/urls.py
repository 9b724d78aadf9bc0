"""Addresses of workarounds."""

from __future__ import annotations

from django.urls import path

from requests_app.workarounds import views

app_name = "workarounds"
urlpatterns = [
    path("<str:ref>/", views.show, name="show"),
    path("<str:ref>/do/<str:doing>/", views.do, name="do"),
]
