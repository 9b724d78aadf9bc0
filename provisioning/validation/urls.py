"""Addresses of validation reports; they hang below those of nodes."""

from __future__ import annotations

from django.urls import path

from provisioning.validation import views

app_name = "validation"
urlpatterns = [
    path("<str:name>/reports/", views.reports_list, name="node"),
    path("<str:name>/reports/newest/", views.report_newest, name="newest"),
    path("<str:name>/reports/<int:report_id>/", views.report_detail, name="report"),
    path(
        "<str:name>/reports/<int:report_id>/evidence/<slug:evidence_id>/",
        views.evidence_detail,
        name="evidence",
    ),
]
