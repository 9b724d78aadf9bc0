"""Addresses of offers, beside their ticket, and of promises."""

from __future__ import annotations

from django.urls import path

from requests_app.negotiation import views

app_name = "offers"
urlpatterns = [
    path("tickets/<str:ref>/offers/new", views.new, name="new"),
    path("tickets/<str:ref>/offers/propose", views.propose, name="propose"),
    path("tickets/<str:ref>/offers/withdraw", views.withdraw, name="withdraw"),
    path("tickets/<str:ref>/offers/answer", views.answer, name="answer"),
    path("tickets/<str:ref>/offers/<int:revision>/reply", views.reply, name="reply"),
    path("tickets/<str:ref>/offers/<int:revision>/ask", views.ask, name="ask"),
    path("promises/", views.promises, name="promises"),
    path("promises/<int:number>/keep", views.keep, name="keep"),
    path("promises/<int:number>/move", views.move, name="move"),
    path("promises/<int:number>/cancel", views.cancel, name="cancel"),
]
