"""Addresses of the clocks: figures, calendars and goals, for infra people."""

from __future__ import annotations

from django.urls import path

from requests_app.clocks import views

app_name = "clocks"
urlpatterns = [
    path("", views.figures, name="figures"),
    path("goals", views.goal, name="goal"),
    path("calendars/", views.new_calendar, name="new-calendar"),
    path("calendars/<slug:slug>/", views.calendar, name="calendar"),
]
