"""Does the ledger agree with the counters?"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce

from requests_app.quotas.models import Quota


@dataclass(frozen=True)
class Drift:
    """A quota whose ledger says something else than its counters."""

    quota: str
    used: int
    used_by_ledger: int
    held: int
    held_by_ledger: int


def drifts() -> list[Drift]:
    """Every quota whose counters are not the sum of its entries; empty when all is well."""
    rows = (
        Quota.objects.annotate(
            ledger_used=Coalesce(Sum("entries__used_change"), 0),
            ledger_held=Coalesce(Sum("entries__held_change"), 0),
        )
        .filter(~Q(ledger_used=F("used")) | ~Q(ledger_held=F("held")))
        .values_list("team__slug", "sku", "used", "ledger_used", "held", "ledger_held")
    )
    return [Drift(f"{team} {sku}", *counts) for team, sku, *counts in rows]
