"""The house as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class HouseConfig(AppConfig):
    """Label `provisioning`."""

    name = "provisioning"
    default_auto_field = "django.db.models.BigAutoField"
