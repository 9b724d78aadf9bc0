"""Why can less than everything be granted? The reasons every room of the desk gives."""

from __future__ import annotations

from requests_app.tickets.reasons import REASONS

__all__ = ["REASONS"]
