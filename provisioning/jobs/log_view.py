"""Which part of a log does a page show, and how? A piece at a time, folded by task, safe whatever it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet
from django.utils.safestring import SafeString, mark_safe

from provisioning.jobs import queries
from provisioning.jobs.ansi import to_html
from provisioning.jobs.caps import head_and_tail
from provisioning.jobs.log_filter import NOTHING, LogFilter
from provisioning.jobs.models import HEADS, Job, JobEvent
from provisioning.jobs.overflow import Reader

EVENTS_AT_ONCE = 300
BYTES_AT_ONCE = 400_000
TAIL = 200


@dataclass(frozen=True, kw_only=True)
class Line:
    """One event as a line of the log. `whole`: it was shortened, and all of it can be had."""

    counter: int
    html: SafeString
    failed: bool
    truncated: bool
    whole: bool = False


@dataclass(kw_only=True)
class Task:
    """A task with its lines. `head` is the counter it begins with and names it on the page."""

    head: int
    title: str
    role: str
    at: datetime | None
    continued: bool = False
    is_head: bool = False
    lines: list[Line] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(line.failed for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Events after `after`, up to `last`. `more`: there are further ones already; `ended`: none will come."""

    attempt: int
    after: int
    last: int
    tasks: list[Task]
    more: bool
    ended: bool


def piece(
    job: Job, attempt: int, after: int, *, only: LogFilter = NOTHING, until: datetime | None = None
) -> Piece:
    """The next piece of a log; `until` leaves out what was said later."""
    events = only.of(queries.events_after(job, attempt, after), job, attempt)
    if until is not None:
        events = events.filter(at__lte=until)
    found = list(events[: EVENTS_AT_ONCE + 1])
    shown = _within_budget(found[:EVENTS_AT_ONCE])
    return _piece(job, attempt, after, shown, more=len(shown) < len(found), filtered=bool(only))


def piece_before(job: Job, attempt: int, before: int, *, only: LogFilter = NOTHING) -> Piece:
    """The piece that ends before event `before`."""
    events = only.of(queries.events_of(job, attempt).filter(counter__lt=before), job, attempt)
    found = list(events.order_by("-counter")[: EVENTS_AT_ONCE + 1])
    shown = _within_budget(found[:EVENTS_AT_ONCE])[::-1]
    after = shown[0].counter - 1 if len(shown) < len(found) else 0
    return _piece(job, attempt, after, shown, more=True, filtered=bool(only))


def nothing_yet(attempt: int) -> Piece:
    """What a page shows whose lines all come later."""
    return Piece(attempt=attempt, after=0, last=0, tasks=[], more=False, ended=False)


def _piece(job: Job, attempt: int, after: int, shown: list[JobEvent], *, more: bool, filtered: bool) -> Piece:
    tasks = [
        task for task in _fold(job, attempt, after, shown, filtered=filtered) if task.lines or task.is_head
    ]
    return Piece(
        attempt=attempt,
        after=after,
        last=shown[-1].counter if shown else after,
        tasks=tasks,
        more=more,
        ended=not more and (job.is_ended or attempt < job.attempt),
    )


def start_of(job: Job, attempt: int, *, at: int | None) -> int:
    """After which counter a page begins: at the task of `at`, near the end of what runs, else at the beginning."""
    if at is not None:
        return max(_head_before(job, attempt, at).counter - 1, at - TAIL, 0)
    if job.is_ended or attempt < job.attempt:
        return 0
    return end_of(job, attempt)


def end_of(job: Job, attempt: int) -> int:
    """After which counter a page begins that shows the end: at a task where one is near."""
    newest = queries.events_of(job, attempt).order_by("-counter")
    last = newest.values_list("counter", flat=True).first()
    if last is None or last <= TAIL:
        return 0
    return max(_head_before(job, attempt, last - TAIL).counter - 1, last - EVENTS_AT_ONCE, 0)


def _within_budget(events: list[JobEvent]) -> list[JobEvent]:
    """As many events as a page should take at once, one at least."""
    size = 0
    for place, event in enumerate(events):
        size += len(event.text)
        if place and size > BYTES_AT_ONCE:
            return events[:place]
    return events


def _fold(job: Job, attempt: int, after: int, events: list[JobEvent], *, filtered: bool) -> Iterator[Task]:
    task: Task | None = None
    reader = Reader(job.pk, attempt, job.month) if any(event.on_disk for event in events) else None
    for event in events:
        following = _begins(job, attempt, event, task, goes_on=filtered or (after > 0 and task is None))
        if following is not None:
            if task is not None:
                yield task
            task = following
        line = None if event.kind in {"task", "play"} else _line(event, reader)
        if line is not None and task is not None:
            task.lines.append(line)
    if task is not None:
        yield task


def _begins(job: Job, attempt: int, event: JobEvent, task: Task | None, *, goes_on: bool) -> Task | None:
    """The task that begins with `event` on the page, None while `task` goes on."""
    if event.kind in HEADS:
        return _task(event)
    if task is None:
        return _going_on(job, attempt, event.counter) if goes_on else _task(event)
    if goes_on and event.task != task.title:
        return _going_on(job, attempt, event.counter)  # the filter left out what began it
    return None


def _task(event: JobEvent) -> Task:
    return Task(
        head=event.counter,
        title=_title(event),
        role=str(event.data.get("role", "")),
        at=event.at,
        is_head=event.kind in {"task", "play"},
    )


def _going_on(job: Job, attempt: int, counter: int) -> Task:
    """The task that event `counter` belongs to, which the piece doesn't begin with."""
    task = _task(_head_before(job, attempt, counter))
    task.continued, task.is_head = True, False
    return task


def _title(event: JobEvent) -> str:
    if event.kind == "task":
        return event.task or "A task without a name"
    if event.kind == "play":
        return f"Play: {event.play}" if event.play else "Play"
    return "Summary" if event.kind == "stats" else "Before the first task"


def _line(event: JobEvent, reader: Reader | None) -> Line | None:
    text, kept = event.text, None
    if event.on_disk and reader is not None:
        kept = reader.event(event.counter)
    if kept is not None and not text:
        text = head_and_tail(kept.text)[0]
    if not text and not event.truncated:
        return None
    shown = mark_safe(to_html(text))  # noqa: S308 - to_html escapes all but its own spans
    return Line(
        counter=event.counter,
        html=shown,
        failed=event.failed,
        truncated=event.truncated and (kept is None or len(kept.text) > len(text)),
        whole=kept is not None,
    )


def _head_before(job: Job, attempt: int, counter: int) -> JobEvent:
    """What began the part of the log that event `counter` lies in."""
    heads: QuerySet[JobEvent] = queries.events_of(job, attempt).filter(counter__lte=counter, kind__in=HEADS)
    found = heads.order_by("-counter").first()
    return found or JobEvent(counter=1, kind="note", at=job.created_at)
