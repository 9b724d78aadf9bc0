"""How many nodes of a SKU can be given away now, and why not more?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from provisioning.contracts import Capacity


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Nodes of one SKU, counted. `free` are placeable, marked spares among them are `free_spares`.

    `spares_kept` is how many free nodes shall stay back at each site; None: those marked as spare, and no others.
    `sites` are (free, marked spares among them) by site; without it all stand at one.
    """

    sku: str
    gpus_per_node: int
    total: int
    free: int
    free_spares: int
    reserved: int
    in_use: int
    spares_kept: int | None = None
    next_free_at: datetime | None = None
    sites: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)


def kept_back(*, free: int, free_spares: int, spares_kept: int | None) -> int:
    """How many of the free nodes no new order gets: they replace nodes that turn out unfit."""
    if spares_kept is None:
        return free_spares
    return min(free, max(free_spares, spares_kept))


def capacity_of(tally: Tally) -> Capacity:
    """What a tally means for somebody who asks for nodes."""
    sites = list(tally.sites.values()) or [(tally.free, tally.free_spares)]
    kept_at = [
        kept_back(free=free, free_spares=spares, spares_kept=tally.spares_kept) for free, spares in sites
    ]
    kept = sum(kept_at)
    return Capacity(
        sku=tally.sku,
        gpus_per_node=tally.gpus_per_node,
        total=tally.total,
        free=tally.free - kept,
        most_at_once=max(free - kept for (free, _), kept in zip(sites, kept_at, strict=True)),
        reserved=tally.reserved,
        in_use=tally.in_use,
        out=tally.total - tally.free - tally.reserved - tally.in_use,
        next_free_at=tally.next_free_at,
        spares=kept,
        reasons=dict(tally.reasons),
    )
