"""Addresses of a ticket's conversation and its files; they stand below the ticket's."""

from __future__ import annotations

from django.urls import path

from requests_app.attachments import views as files
from requests_app.conversation import views

urlpatterns = [
    path("<str:ref>/comment", views.comment, name="comment"),
    path("<str:ref>/comment-draft", views.draft, name="comment-draft"),
    path("<str:ref>/comment-preview", views.preview, name="comment-preview"),
    path("<str:ref>/people", views.people, name="people"),
    path("<str:ref>/story", views.story, name="story"),
    path("<str:ref>/watch", views.watch, name="watch"),
    path("<str:ref>/comments/<int:number>/", views.permalink, name="comment-at"),
    path("<str:ref>/comments/<int:number>/edit", views.edit, name="comment-edit"),
    path("<str:ref>/comments/<int:number>/history", views.history, name="comment-history"),
    path("<str:ref>/comments/<int:number>/hide", views.hide, name="comment-hide"),
    path("<str:ref>/files/<str:public_id>", files.download, name="file"),
    path("<str:ref>/files/<str:public_id>/remove", files.remove, name="file-remove"),
]
