"""What time is it? The one place that asks; rules get the answer as an argument."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """Aware, in UTC."""
    return timezone.now()  # noqa: TID251 - the one clock
