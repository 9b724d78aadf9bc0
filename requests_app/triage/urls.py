"""Addresses of the desk."""

from __future__ import annotations

from django.urls import path

from requests_app.triage import bulk_views, desk_views, keeping_views, views

app_name = "desk"
urlpatterns = [
    path("fresh", desk_views.fresh, name="fresh"),
    path("", desk_views.queue, name="queue"),
    path("next", desk_views.take_next, name="next"),
    path("undo/<int:number>", desk_views.take_back, name="undo"),
    path("keys/", keeping_views.keys, name="keys"),
    path("rota/", keeping_views.rota, name="rota"),
    path("rota/<int:number>/drop", keeping_views.drop_shift, name="drop-shift"),
    path("replies/", keeping_views.canned, name="replies"),
    path("replies/<int:number>/drop", keeping_views.drop_reply, name="drop-reply"),
    path("views", keeping_views.save_view, name="save-view"),
    path("views/<int:number>/drop", keeping_views.drop_view, name="drop-view"),
    path("bulk/", bulk_views.runs, name="bulk"),
    path("bulk/<int:number>/", bulk_views.run_page, name="bulk-run"),
    path("bulk/<int:number>/begin", bulk_views.begin, name="bulk-begin"),
    path("bulk/<int:number>/stop", bulk_views.stop, name="bulk-stop"),
    path("<str:ref>/do/<slug:verb>", desk_views.verdict, name="do"),
    path("<str:ref>/watch", desk_views.watch, name="watch"),
    path("<str:ref>/wake", desk_views.wake, name="wake"),
    path("<str:ref>/take", views.take, name="take"),
    path("<str:ref>/approve", views.approve, name="approve"),
    path("<str:ref>/decline", views.decline, name="decline"),
    path("<str:ref>/ask-back", views.ask_back, name="ask-back"),
    path("<str:ref>/deliver", views.deliver, name="deliver"),
]
