"""The house as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class HouseConfig(AppConfig):
    """Label `requests_app`."""

    name = "requests_app"
    default_auto_field = "django.db.models.BigAutoField"
