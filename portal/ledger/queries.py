"""What is the story of a subject? Events of one or several subjects, oldest first."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from portal.ledger.models import Event

LONGEST_STORY = 500


def timeline(subjects: Iterable[str]) -> QuerySet[Event]:
    """Events of these subjects in order. Whoever calls has checked that the reader may see the subjects."""
    wanted = [subject for subject in subjects if subject]
    return Event.objects.filter(subject__in=wanted).select_related("actor").order_by("id")[:LONGEST_STORY]
