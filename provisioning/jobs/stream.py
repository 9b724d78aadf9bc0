"""What does a page that follows a log hear next? Server-sent messages, made from the database alone; here nothing waits.

A message's id is the counter of its last event, so a page that lost its connection says where it was by Last-Event-ID
and nothing comes twice or is missed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.template.loader import render_to_string

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from provisioning.jobs import log_view, queries
from provisioning.jobs.log_filter import NOTHING, LogFilter, read_filter
from provisioning.jobs.models import Job

CONTENT_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
RETRY_MS = 1000
BEAT = ": still here\n\n"
FASTEST = 1000
_LONGEST_NUMBER = 15


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a page is in the log of one attempt. `speed` above 0 replays it: what was said then comes in that rhythm."""

    ref: str
    attempt: int
    after: int
    only: LogFilter = NOTHING
    speed: int = 0
    begun: datetime | None = None
    first_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class News:
    """Messages to send now, the place after them, and what is to come: `more` at once, or nothing after `ended`."""

    text: str
    place: Place
    more: bool
    ended: bool


def begin(user: User, ref: str, told: Mapping[str, str], last_event_id: str) -> Place:
    """Where a page begins; NotFound for a job that isn't the person's to see, Invalid for an odd question."""
    job = queries.job_by_ref(user, ref)
    latest = max(job.attempt, 1)
    attempt = _number(told.get("attempt", ""), latest, "attempt")
    if not 1 <= attempt <= latest:
        raise NotFound(f"{job.ref} has no attempt {attempt}.")
    after = _number(last_event_id or told.get("after", ""), 0, "after")
    speed = min(_number(told.get("replay", ""), 0, "replay"), FASTEST)
    place = Place(ref=ref, attempt=attempt, after=after, only=read_filter(told), speed=speed)
    if not speed:
        return place
    first = queries.events_after(job, attempt, after).values_list("at", flat=True).first()
    return replace(place, begun=now(), first_at=first)


def news(user: User, place: Place) -> News:
    """What came after `place`. Asked anew each time whether the person may still see the job."""
    job = queries.job_by_ref(user, place.ref)
    piece = log_view.piece(job, place.attempt, place.after, only=place.only, until=_until(place))
    over = piece.ended and _all_replayed(job, place, piece.last)
    text = ""
    if piece.tasks:
        page = render_to_string("provisioning/jobs/log.html#piece", {"job": job, "piece": piece})
        text = message("lines", {"last": piece.last, "more": piece.more, "html": page}, number=piece.last)
    if over:
        text += message("end", {"state": str(job.status)}, number=piece.last)
    return News(text=text, place=replace(place, after=piece.last), more=piece.more, ended=over)


def message(name: str, told: Mapping[str, object], *, number: int | None = None) -> str:
    """One message of a stream; JSON keeps it on one line."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(told)}\n\n"


def hello() -> str:
    """The first words: how soon to come back."""
    return f"retry: {RETRY_MS}\n\n"


def _until(place: Place) -> datetime | None:
    if not place.speed or place.begun is None or place.first_at is None:
        return None
    passed: timedelta = now() - place.begun
    return place.first_at + passed * place.speed


def _all_replayed(job: Job, place: Place, last: int) -> bool:
    return not place.speed or not queries.events_after(job, place.attempt, last).exists()


def _number(text: str, default: int, name: str) -> int:
    if text == "":
        return default
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise Invalid({name: ["Use a whole number."]})
    return int(text)
