"""How is everything ranked anew? In batches by id that each say how far they came, so that a kill loses one batch at most.

The list stays usable meanwhile: keys of two versions stand side by side for a minute, and each explains itself.
"""

from __future__ import annotations

import time

from django.db import transaction
from django.db.models import F

from portal.kernel.clock import now
from requests_app.priority.models import Rerank
from requests_app.priority.services import OUT, rank_batch
from requests_app.tickets.models import Ticket

BATCH = 5000


def step(run_id: int, *, size: int = BATCH) -> int:
    """Rank the next batch of a run and note the progress, in one transaction; 0 when it is over or somebody else is at it."""
    with transaction.atomic():
        rows = Rerank.objects.select_for_update(skip_locked=True, of=("self",)).select_related("policy")
        run = rows.filter(pk=run_id, ended_at=None).first()
        if run is None:
            return 0
        waiting = Ticket.objects.filter(
            pk__gt=run.last_id, pk__lte=run.upper_id, rank_key__isnull=False
        ).exclude(status__in=OUT)
        ids = list(waiting.order_by("pk").values_list("pk", flat=True)[:size])
        if not ids:
            Rerank.objects.filter(pk=run.pk).update(ended_at=now(), touched_at=now())
            return 0
        rank_batch(ids, run.policy.constants)
        Rerank.objects.filter(pk=run.pk).update(last_id=ids[-1], done=F("done") + len(ids), touched_at=now())
        return len(ids)


def run_open(*, seconds: float = 50.0, size: int = BATCH) -> int:
    """Go on with open runs for about `seconds`; returns how many tickets were ranked. The next sweep goes on."""
    until, ranked = time.monotonic() + seconds, 0
    for run_id in Rerank.objects.filter(ended_at=None).order_by("pk").values_list("pk", flat=True):
        while time.monotonic() < until and (count := step(run_id, size=size)):
            ranked += count
    return ranked


def current_run() -> Rerank | None:
    """The run that goes on now."""
    return Rerank.objects.filter(ended_at=None).order_by("-pk").first()
