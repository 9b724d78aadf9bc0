"""Addresses of nodes."""

from __future__ import annotations

from django.urls import path

from provisioning.fleet import views

app_name = "nodes"
urlpatterns = [
    path("", views.nodes_list, name="list"),
    path("<str:name>/", views.node_detail, name="detail"),
    path("<str:name>/act", views.node_act, name="act"),
    path("<str:name>/hold", views.node_hold, name="hold"),
    path("<str:name>/holds/<int:hold_id>/close", views.hold_close, name="close-hold"),
]
