"""Addresses of outcomes: what a team says of its ticket, and what infra reads."""

from __future__ import annotations

from django.urls import path

from requests_app.outcome import views

app_name = "outcome"
urlpatterns = [
    path("tickets/<str:ref>/outcome", views.say, name="say"),
    path("tickets/<str:ref>/reopen", views.reopen, name="reopen"),
    path("desk/outcomes/", views.scores, name="scores"),
]
