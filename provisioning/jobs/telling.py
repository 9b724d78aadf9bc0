"""How do open pages hear at once that a job said something? By a notice of the database, sent with the events themselves."""

from __future__ import annotations

from django.db import connection

CHANNEL = "job_events"


def tell(job_id: int) -> None:
    """Notify whoever listens, when the caller's transaction commits; it costs nothing when nobody does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(job_id)])
