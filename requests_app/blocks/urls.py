"""Addresses of blocks, below their ticket."""

from __future__ import annotations

from django.urls import path

from requests_app.blocks import views

app_name = "blocks"
urlpatterns = [
    path("<str:ref>/blocked/", views.blocked, name="blocked"),
    path("<str:ref>/blocked/me", views.speak, name="speak"),
    path("<str:ref>/blocked/found", views.found, name="found"),
    path("<str:ref>/owed/", views.owed, name="owed"),
]

owed_urlpatterns = [
    path("", views.vouching, name="vouching"),
    path("<int:number>/vouch", views.vouch, name="vouch"),
    path("<int:number>/drop", views.drop, name="drop"),
]
