"""Addresses of the debt and of the projects that pay it off."""

from __future__ import annotations

from django.urls import path

from requests_app.workarounds import debt_views as views

app_name = "debt"
urlpatterns = [
    path("", views.debt, name="list"),
    path("projects/", views.make_project, name="make-project"),
    path("caps/", views.set_cap, name="set-cap"),
    path("<str:ref>/", views.project, name="project"),
    path("<str:ref>/move/", views.move_project, name="move"),
    path("<str:ref>/target/", views.retarget_project, name="retarget"),
    path("<str:ref>/milestones/", views.finish_milestone, name="milestone"),
]
