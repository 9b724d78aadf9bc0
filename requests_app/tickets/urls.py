"""Addresses of tickets, and of the form that files one, which stands in the catalogue."""

from __future__ import annotations

from django.urls import path

from requests_app.conversation.urls import urlpatterns as conversation_urlpatterns
from requests_app.tickets import request_views, views

app_name = "tickets"
urlpatterns = [
    path("", views.ticket_list, name="list"),
    path("drafts/", request_views.drafts, name="drafts"),
    path("<str:ref>/", views.detail, name="detail"),
    path("<str:ref>/answer", views.answer, name="answer"),
    path("<str:ref>/withdraw", views.withdraw, name="withdraw"),
    path("<str:ref>/close", views.close, name="close"),
    path("<str:ref>/relief", views.relief, name="relief"),
    *conversation_urlpatterns,
]

request_urlpatterns = [
    path("<slug:slug>/", request_views.ask, name="request"),
    path("<slug:slug>/draft", request_views.draft, name="draft"),
    path("<slug:slug>/discard", request_views.discard, name="discard"),
    path("<slug:slug>/hint", request_views.hint, name="hint"),
]
