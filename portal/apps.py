"""The shell as a Django app; it hands the wiring to the ledger, which imports nobody."""

from __future__ import annotations

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """Label `portal`."""

    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Install the one table of what follows what."""
        from portal.ledger.dispatch import install
        from portal.wiring import HOLDS, REACTIONS
        from provisioning.retention import holding

        install(REACTIONS)
        holding.install(HOLDS)
