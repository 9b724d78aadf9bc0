"""The world of tickets, and one of theirs that is delivered."""

from __future__ import annotations

from tests.requests_app.tickets.conftest import blocked, desk, ready, ticket

__all__ = ["blocked", "desk", "ready", "ticket"]
