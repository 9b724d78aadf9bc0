"""What room is there right now for what is being asked? Quota and free nodes, said in a line each; no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portal.accounts.models import Team
from portal.kernel.errors import NotFound
from provisioning import interface
from provisioning.contracts import Capacity
from requests_app.catalogue.models import OfferingVersion
from requests_app.catalogue.questions import Live
from requests_app.quotas.arithmetic import Room
from requests_app.quotas.services import room_for

CLUSTERS = frozenset({"cluster_build", "cluster_resize"})
QUOTAS = frozenset({"quota_raise", "quota_boost"})


@dataclass(frozen=True, kw_only=True)
class Hint:
    """Lines to show, each with a tone."""

    quota: str = ""
    quota_tone: str = "info"
    capacity: str = ""
    capacity_tone: str = "info"


def hint_for(
    version: OfferingVersion, team: Team | None, answers: Mapping[str, Any], live: Live
) -> Hint | None:
    """The hint for half-typed answers; None while there is nothing to say."""
    sku = _sku_of(version, answers, live)
    if team is None or not sku or version.fulfilment not in CLUSTERS | QUOTAS:
        return None
    try:
        capacity = interface.capacity(sku)
    except NotFound:
        return None
    room = room_for(team, sku)
    if version.fulfilment in QUOTAS:
        return Hint(quota=_say_room(team, room))
    nodes = answers.get("nodes")
    count = nodes if isinstance(nodes, int) and nodes > 0 else 0
    gpus = count * capacity.gpus_per_node
    left = room.left
    return Hint(
        quota=_say_room(team, room) + _say_need(gpus, left),
        quota_tone="info" if left is None or gpus <= left else "warn",
        capacity=_say_free(capacity)
        + ("" if count <= capacity.most_at_once else " The rest takes longer; the desk says how long."),
        capacity_tone="info" if count <= capacity.most_at_once else "warn",
    )


def _say_free(capacity: Capacity) -> str:
    together = (
        "" if capacity.most_at_once == capacity.free else f", {capacity.most_at_once} of them at one site"
    )
    return f"{capacity.free} of {capacity.total} nodes of this kind are free now{together}."


def _sku_of(version: OfferingVersion, answers: Mapping[str, Any], live: Live) -> str:
    if version.fulfilment != "cluster_resize":
        return str(answers.get("sku") or "")
    cluster = live.cluster(str(answers.get("cluster") or ""))
    return "" if cluster is None else cluster.sku


def _say_room(team: Team, room: Room) -> str:
    if room.limit is None:
        return f"{team.name} has no limit on this kind of node."
    return f"{team.name} has {room.left} of {room.limit} GPUs left on this kind of node."


def _say_need(gpus: int, left: int | None) -> str:
    if gpus == 0:
        return ""
    said = f" This asks for {gpus}."
    return said if left is None or gpus <= left else f"{said} More quota comes first; the desk can do both."
