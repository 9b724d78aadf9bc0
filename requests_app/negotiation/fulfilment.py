"""What follows a yes to a line? A hold and an order, a raised quota, or work by hand; one function per kind of fulfilment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Refused
from portal.ledger.services import record
from provisioning import interface
from provisioning.contracts import OrderKind, OrderSpec
from requests_app import events
from requests_app.catalogue import specs
from requests_app.quotas import services as quotas
from requests_app.quotas.models import Hold
from requests_app.tickets import lines as steps
from requests_app.tickets.keyholders import accounts_of
from requests_app.tickets.models import Line, LineWhat, Ticket

BY_ORDER = frozenset({"cluster_build", "cluster_resize"})
AT_ONCE = frozenset({"quota_raise", "quota_boost"})


def by_hand(line: Line) -> bool:
    """True when people hand it over; otherwise an order or a grant does."""
    return line.fulfilment not in BY_ORDER | AT_ONCE


def holds_quota(line: Line) -> bool:
    """True when a yes takes GPUs out of the team's quota."""
    return line.fulfilment in BY_ORDER


def gpus_in(line: Line, quantity: int, sku: str = "") -> int:
    """GPUs that `quantity` of a line takes, of its own kind of node or of another."""
    if line.what == LineWhat.NODES:
        return quantity * interface.sku(sku or line.sku_now).gpus_per_node
    return quantity if line.what == LineWhat.GPUS else 0


def gpus_of(line: Line) -> int:
    """GPUs a line takes: as asked, or as granted once it is decided."""
    return gpus_in(line, line.asked_qty if line.granted_qty is None else line.granted_qty)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to set off: `quantity` of a granted line, from `hold` when quota is set aside already; `source` names it once."""

    ticket: Ticket
    line: Line
    quantity: int
    source: str
    hold: Hold | None = None


def source_of(ticket: Ticket, line: Line) -> str:
    """Names one decision on one line: a line that came back and is approved again holds anew."""
    return f"{line.source}/v{ticket.version}"


def begin(step: Step, *, by: User | None) -> str:
    """Set it off in the caller's transaction; returns the order's ref when there is one. Raises what quota and fleet refuse."""
    return _FULFILMENTS[step.line.fulfilment](step, by)


def hold_for(
    ticket: Ticket, line: Line, quantity: int, *, source: str, sku: str = "", by: User | None
) -> Hold:
    """Set aside the quota of `quantity` of a line. Refused with numbers and the nearest yes when there is no room."""
    sku = sku or line.sku_now
    return quotas.hold_quota(
        team=ticket.team,
        sku=sku,
        gpus=gpus_in(line, quantity, sku),
        source=source,
        step=interface.sku(sku).gpus_per_node,
        by=by,
    )


def _order(step: Step, by: User | None) -> str:
    """Hold what it takes and place the order, both in the caller's transaction."""
    ticket, line = step.ticket, step.line
    builds = line.fulfilment == "cluster_build" and not line.cluster_ref
    spec = (
        _new_cluster(ticket, line, step.quantity) if builds else _larger_cluster(ticket, line, step.quantity)
    )
    hold = step.hold or hold_for(ticket, line, step.quantity, source=step.source, by=by)
    order = interface.place_order(spec, requested_for=ticket.ref, by=by)
    quotas.bind_order(hold=hold, order_ref=order.ref)
    steps.order(line, step.quantity, order.ref)
    payload = {
        "team": ticket.team.slug,
        "order": order.ref,
        "nodes": spec.nodes,
        "line": line.position,
        "quantity": step.quantity,
    }
    record(events.TICKET_STARTED, subject=ticket.ref, payload=payload, by=by)
    return order.ref


def _content(line: Line) -> dict[str, str]:
    return {"slug": line.source, "fulfilment": line.fulfilment}


def _new_cluster(ticket: Ticket, line: Line, nodes: int) -> OrderSpec:
    """A lease begins now, so that an approval that came late doesn't shorten it."""
    draft = specs.order_draft(_content(line), line.asks)
    return OrderSpec(
        kind=OrderKind.BUILD,
        team=ticket.team.slug,
        sku=line.sku_now,
        nodes=nodes,
        cluster_name=draft.cluster_name,
        lease_end=None if draft.lease_days is None else now() + timedelta(days=draft.lease_days),
        driver_version=draft.driver_version,
        accounts=accounts_of(ticket.team),
        storage_mounts=draft.storage_mounts,
    )


def _larger_cluster(ticket: Ticket, line: Line, more: int) -> OrderSpec:
    cluster = interface.cluster_view(line.cluster_ref or specs.cluster_of(_content(line), line.asks))
    if cluster.team != ticket.team.slug:
        raise Refused("This cluster belongs to another team.", code="foreign-cluster")
    return OrderSpec(
        kind=OrderKind.RESIZE,
        team=ticket.team.slug,
        sku=cluster.sku,
        nodes=len(cluster.nodes) + more,
        cluster_name=cluster.name,
        cluster_ref=cluster.ref,
        lease_end=cluster.lease_end,
        accounts=accounts_of(ticket.team),
    )


def _grant(step: Step, by: User | None) -> str:
    """The quota changes at once; a boost's days count from now."""
    line, until = step.line, None
    if line.fulfilment == "quota_boost" and line.days is not None:
        until = now() + timedelta(days=line.days)
    quotas.grant_quota(
        team=step.ticket.team,
        sku=line.sku_now,
        gpus=gpus_in(line, step.quantity),
        source=step.source,
        reason=f"{step.ticket.ref} {step.ticket.title}",
        until=until,
        by=by,
    )
    more: dict[str, Any] = {} if until is None else {"until": until}
    steps.deliver(line, step.quantity, by=by, **more)
    return ""


def _by_hand(_step: Step, _by: User | None) -> str:
    """People do it; the desk delivers it with a note."""
    return ""


_FULFILMENTS: dict[str, Callable[[Step, User | None], str]] = {
    "cluster_build": _order,
    "cluster_resize": _order,
    "quota_raise": _grant,
    "quota_boost": _grant,
    "manual": _by_hand,
}
