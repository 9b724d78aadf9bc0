"""The world of tickets, for their clocks."""

from __future__ import annotations

from tests.requests_app.tickets.conftest import desk

__all__ = ["desk"]
