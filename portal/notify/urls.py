"""Addresses of what is told."""

from __future__ import annotations

from django.urls import path

from portal.notify import views

app_name = "notify"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/read", views.read, name="read"),
    path("inbox/<int:number>/", views.open_message, name="open"),
    path("account/notifications/", views.choices, name="choices"),
    path("account/notifications/again", views.try_again, name="try-again"),
    path("teams/<slug:slug>/chat/", views.team_chat, name="team-chat"),
    path("mail-room/", views.mail_room, name="mail-room"),
    path("mail-room/dead/<int:number>/again", views.send_again, name="send-again"),
    path("mail-room/aside/<int:number>/away", views.put_away, name="put-away"),
    path("mail-room/bouncing/<str:username>/again", views.resume, name="resume"),
]
