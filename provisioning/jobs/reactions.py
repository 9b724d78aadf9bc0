"""What do jobs do when something happens elsewhere? Each reaction is idempotent."""

from __future__ import annotations

from portal.ledger.models import Event
from provisioning.jobs import routes


def follow_imported(event: Event) -> None:
    """Nodes were moved to another site: jobs that wait for them wait there."""
    changed: dict[str, list[dict[str, object]]] = event.payload.get("changed", {})
    moved = [name for name, changes in changed.items() if any(one["field"] == "site" for one in changes)]
    if moved:
        routes.follow_nodes(moved)
