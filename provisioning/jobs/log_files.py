"""How is a log downloaded? As plain text, as JSON lines, or one event whole; what lies on disk is put back in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator

from portal.kernel.errors import NotFound
from provisioning.jobs import queries
from provisioning.jobs.ansi import plain
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.overflow import Kept, Reader

AT_ONCE = 500


def _parts(job: Job) -> list[Job]:
    """The jobs whose logs are the log of `job`: its shards in order, or itself."""
    return list(job.shards.order_by("shard")) if job.is_whole else [job]


def as_text(job: Job) -> Iterator[str]:
    """The whole log as plain text, part by part and attempt by attempt."""
    for part in _parts(job):
        yield from _as_text(part)


def _as_text(job: Job) -> Iterator[str]:
    attempt = 0
    for event, kept in _events(job):
        if event.attempt != attempt:
            attempt = event.attempt
            yield f"== {job.ref} attempt {attempt} ==\n"
        text = event.text if kept is None else kept.text
        note = " [shortened]" if event.truncated and kept is None else ""
        yield f"{plain(text)}{note}\n"


def as_json_lines(job: Job) -> Iterator[str]:
    """The whole log, one JSON object a line; `truncated` says that something is lost for good."""
    for part in _parts(job):
        yield from _as_json_lines(part)


def _as_json_lines(job: Job) -> Iterator[str]:
    for event, kept in _events(job):
        told = {
            "job": job.ref,
            "attempt": event.attempt,
            "counter": event.counter,
            "at": event.at.isoformat(),
            "kind": event.kind,
            "node": event.host,
            "play": event.play,
            "task": event.task,
            "changed": event.changed,
            "failed": event.failed,
            "text": event.text if kept is None else kept.text,
            "details": event.data
            if kept is None or kept.result is None
            else {**event.data, "result": kept.result},
            "truncated": event.truncated and kept is None,
        }
        yield json.dumps(told, ensure_ascii=False) + "\n"


def whole_text(job: Job, attempt: int, counter: int) -> str:
    """All that one event said, as plain text."""
    event = queries.events_of(job, attempt).filter(counter=counter).first()
    if event is None:
        raise NotFound(f"{job.ref} has no event {counter} in attempt {attempt}.")
    kept = Reader(job.pk, attempt, job.month).event(counter) if event.on_disk else None
    return plain(event.text if kept is None else kept.text)


def _events(job: Job) -> Iterator[tuple[JobEvent, Kept | None]]:
    reader: tuple[int, Reader] | None = None
    events = JobEvent.objects.filter(job=job, month=job.month).order_by("attempt", "counter")
    for event in events.iterator(chunk_size=AT_ONCE):
        if not event.on_disk:
            yield event, None
            continue
        if reader is None or reader[0] != event.attempt:
            reader = (event.attempt, Reader(job.pk, event.attempt, job.month))
        yield event, reader[1].event(event.counter)
