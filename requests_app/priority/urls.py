"""Addresses of ranks, below their ticket, and of the policy that makes them."""

from __future__ import annotations

from django.urls import path

from requests_app.priority import views

app_name = "priority"
urlpatterns = [
    path("<str:ref>/rank/", views.rank, name="rank"),
    path("<str:ref>/rank/pin", views.pin, name="pin"),
    path("<str:ref>/rank/unpin", views.unpin, name="unpin"),
    path("<str:ref>/rank/effort", views.effort, name="effort"),
    path("<str:ref>/rank/expedite", views.expedite, name="expedite"),
    path("<str:ref>/rank/unexpedite", views.unexpedite, name="unexpedite"),
]

policy_urlpatterns = [path("", views.policy, name="policy")]
