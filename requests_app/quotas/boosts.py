"""What may who lent a quota do with it? Take it back early, or let it last longer; by the source it was lent for."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from requests_app.quotas.models import Boost
from requests_app.quotas.services import end_boost


def end_boosts_of(*, source: str) -> int:
    """Take back what was lent for `source` and what it was renewed by; returns how many ended now."""
    return sum(end_boost(pk) for pk in _lasting(source))


@transaction.atomic
def extend_boost(*, source: str, until: datetime) -> bool:
    """Let what was lent for `source` last until then; False when nothing of it lasts any more."""
    found = _lasting(source)
    return Boost.objects.filter(pk__in=found, ended_at=None).update(until=until) > 0


def _lasting(source: str) -> list[int]:
    rows = Boost.objects.filter(ended_at=None, source__startswith=source).order_by("pk")
    return [row.pk for row in rows if row.source == source or row.source.startswith(f"{source}/")]
