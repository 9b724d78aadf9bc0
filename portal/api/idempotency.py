"""How does a client send a POST twice without doing it twice? The key and the body give the answer of the first time again.

A middleware, so that every POST of the API has it without asking: what files, approves, offers or spends most of all. A key
counts for one token (or one signed-in person) and one address, so nobody reads what another client was told.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from portal.accounts.services import token_user
from portal.api.errors import CONTENT_TYPE, shape
from portal.api.models import KeptAnswer
from portal.kernel.clock import now

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT = timedelta(hours=72)
LEASE = timedelta(seconds=90)
"""A worker that is silent for so long has died; the next one who sends the key does the work."""
KEPT_HEADERS = ("Content-Type", "Location", "ETag")
NOT_KEPT = frozenset({401, 403, 408, 425, 428, 429})
"""Answers about the caller or the moment, not about the request: sent again, they may be others."""
LARGEST_BODY = 1_048_576
_KEY = re.compile(r"[\x21-\x7e]{1,80}")

Answering = Callable[[HttpRequest], HttpResponseBase]


class idempotent:  # noqa: N801 - settings name middlewares like functions
    """Middleware: answers a POST of the API that carries a key once, and keeps the answer."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Answering) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        kept: KeptAnswer | None = getattr(request, "kept_answer", None)
        if kept is not None:
            _keep(kept, response)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """The answer of the first time, a refusal, or None when the view shall do it now."""
        key = key_of(request)
        if key is None or not getattr(getattr(view, "cls", None), "keeps_answers", True):
            return None
        caller = _caller(request)
        if caller is None:
            return None  # the view says who may come in
        if _KEY.fullmatch(key) is None:
            said = {"pointer": f"/{HEADER}", "detail": "Use 1 to 80 printable characters without spaces."}
            return _problem(422, "invalid", "The key can't be used.", errors=[said])
        return _claim(request, caller, key)


def key_of(request: HttpRequest) -> str | None:
    """The key of a POST to the API, without the quotes of the draft standard; None for any other request."""
    if request.method != "POST" or not request.path.startswith("/api/"):
        return None
    if (request.content_type or "").startswith("multipart/"):
        return None
    key = request.headers.get(HEADER)
    if key is None:
        return None
    key = key.strip()
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


def forget_old() -> int:
    """Forget what was kept for three days; returns how many."""
    count, _ = KeptAnswer.objects.filter(claimed_at__lt=now() - KEPT).delete()
    return count


def _caller(request: HttpRequest) -> str | None:
    """Who the answer is for; None for nobody we know."""
    kind, _, raw = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found = token_user(raw.strip())
        return None if found is None else f"token:{found[1].pk}"
    return f"user:{request.user.pk}" if request.user.is_authenticated else None


def _claim(request: HttpRequest, caller: str, key: str) -> HttpResponseBase | None:
    """Make the row, which is the lock; whoever finds it made reads it instead."""
    digest, at = digest_of(request.body), now()
    where = {"caller": caller, "route": request.path[:200], "key": key}
    row, made = KeptAnswer.objects.get_or_create(**where, defaults={"request_hash": digest, "claimed_at": at})
    if not made and row.claimed_at < at - KEPT:
        KeptAnswer.objects.filter(pk=row.pk, claimed_at=row.claimed_at).delete()
        return _claim(request, caller, key)
    if not made and row.request_hash != digest:
        said = f"The key {key!r} was used here before, with other content. Use a new key for a new request."
        return _problem(422, "idempotency-key-reused", said)
    if not made and row.answered_at is not None:
        return _replay(row)
    if not made and not _take_over(row):
        response = _problem(409, "in-progress", "The first request with this key is still being worked on.")
        response["Retry-After"] = "2"
        return response
    request.kept_answer = row  # type: ignore[attr-defined]
    return None


def _take_over(row: KeptAnswer) -> bool:
    """True for the one who goes on with what a dead worker left."""
    at = now()
    dead = Q(answered_at=None, claimed_at__lt=at - LEASE)
    return KeptAnswer.objects.filter(dead, pk=row.pk).update(claimed_at=at) == 1


def digest_of(body: bytes) -> str:
    """The same for bodies that say the same: JSON by its content, anything else by its bytes."""
    with suppress(ValueError, RecursionError):
        body = json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest()


def _keep(row: KeptAnswer, response: HttpResponseBase) -> None:
    """Keep what is an answer; forget the row where sending again may go better, so that it is tried again."""
    status = response.status_code
    body = response.content if isinstance(response, HttpResponse) else None
    if body is None or status >= 500 or status in NOT_KEPT or len(body) > LARGEST_BODY:
        row.delete()
        return
    headers = {name: response[name] for name in KEPT_HEADERS if name in response}
    KeptAnswer.objects.filter(pk=row.pk, answered_at=None).update(
        answered_at=now(), http_status=status, headers=headers, body=body.decode("utf-8")
    )


def _replay(row: KeptAnswer) -> HttpResponse:
    response = HttpResponse(row.body, status=row.http_status)
    for name, value in row.headers.items():
        response[name] = value
    response[REPLAYED] = "true"
    return response


def _problem(status: int, code: str, said: str, **more: Any) -> JsonResponse:
    return JsonResponse(shape(status, code, said, **more), status=status, content_type=CONTENT_TYPE)
