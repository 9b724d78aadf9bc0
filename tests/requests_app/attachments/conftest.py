"""The tickets of the tickets' room."""

from __future__ import annotations

from tests.requests_app.tickets.conftest import blocked, desk, ready, ticket, waiting

__all__ = ["blocked", "desk", "ready", "ticket", "waiting"]
