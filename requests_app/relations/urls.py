"""Addresses of what belongs to a ticket; they stand below the ticket's own."""

from __future__ import annotations

from django.urls import path

from requests_app.relations import views

app_name = "relations"
urlpatterns = [
    path("<str:ref>/relations", views.relate, name="relate"),
    path("<str:ref>/relations/<int:number>/end", views.end, name="end"),
    path("<str:ref>/merge", views.merge, name="merge"),
]
