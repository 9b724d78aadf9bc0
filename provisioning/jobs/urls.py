"""Addresses of jobs."""

from __future__ import annotations

from django.urls import path

from provisioning.jobs import views

app_name = "jobs"
urlpatterns = [
    path("", views.jobs_list, name="list"),
    path("nodes/<str:name>/quiet", views.node_quiet, name="node-quiet"),
    path("<str:ref>/", views.job_detail, name="detail"),
    path("<str:ref>/log", views.job_log, name="log"),
    path("<str:ref>/log.txt", views.job_log_text, name="log-text"),
    path("<str:ref>/log.ndjson", views.job_log_json, name="log-json"),
    path("<str:ref>/log/<int:attempt>/<int:counter>", views.job_event_text, name="event-text"),
    path("<str:ref>/stream", views.job_stream, name="stream"),
    path("<str:ref>/outline", views.job_outline, name="outline"),
    path("<str:ref>/cancel", views.job_cancel, name="cancel"),
    path("<str:ref>/force", views.job_force, name="force"),
    path("<str:ref>/resume", views.job_resume, name="resume"),
    path("<str:ref>/relaunch", views.job_relaunch, name="relaunch"),
]
