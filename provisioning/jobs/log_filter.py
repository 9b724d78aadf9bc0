"""Which events of a log does the reader want? Those of one node, the failures, the changes, those that hold some words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from portal.kernel.errors import Invalid
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.overflow import Reader

LONGEST = 200
FOUND_ON_DISK = 2000
ONLY = {"failed": Q(failed=True), "changed": Q(changed=True)}


@dataclass(frozen=True, kw_only=True)
class LogFilter:
    """Empty texts ask for everything."""

    host: str = ""
    only: str = ""
    words: str = ""

    def __bool__(self) -> bool:
        return bool(self.host or self.only or self.words)

    @property
    def query(self) -> str:
        """As part of an address, without what is empty."""
        told = {"host": self.host, "only": self.only, "q": self.words}
        return urlencode({name: text for name, text in told.items() if text})

    def of(self, events: QuerySet[JobEvent], job: Job, attempt: int) -> QuerySet[JobEvent]:
        """Those of `events` that are wanted."""
        if self.host:
            events = events.filter(host=self.host)
        if self.only:
            events = events.filter(ONLY[self.only])
        if self.words:
            events = events.filter(
                Q(text__icontains=self.words)
                | Q(task__icontains=self.words, kind="task")
                | Q(counter__in=self._on_disk(job, attempt))
            )
        return events

    def _on_disk(self, job: Job, attempt: int) -> list[int]:
        wanted, found = self.words.casefold(), []
        for kept in Reader(job.pk, attempt, job.month).all():
            if wanted in kept.text.casefold():
                found.append(kept.counter)
                if len(found) == FOUND_ON_DISK:
                    break
        return found


NOTHING = LogFilter()


def read_filter(told: Mapping[str, str]) -> LogFilter:
    """What an address asks for; Invalid for what can't be asked."""
    only = told.get("only", "")
    if only and only not in ONLY:
        raise Invalid({"only": [f"Use one of {', '.join(ONLY)}."]})
    words = told.get("q", "").strip()
    if len(words) > LONGEST:
        raise Invalid({"q": [f"At most {LONGEST} characters."]})
    return LogFilter(host=told.get("host", "")[:255], only=only, words=words)
