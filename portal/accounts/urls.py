"""Addresses of accounts."""

from __future__ import annotations

from django.urls import path

from portal.accounts import views

app_name = "accounts"
urlpatterns = [
    path("account/sign-in/", views.sign_in, name="sign-in"),
    path("account/sign-out/", views.sign_out, name="sign-out"),
    path("account/", views.profile, name="profile"),
    path("account/keys/", views.keys, name="keys"),
    path("account/password/", views.password, name="password"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<slug:public_id>/revoke/", views.revoke, name="revoke"),
    path("teams/", views.teams, name="teams"),
    path("teams/<slug:slug>/", views.team, name="team"),
    path("teams/<slug:slug>/members/<str:username>/", views.member, name="member"),
]
