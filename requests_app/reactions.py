"""What does a ticket do when something happened? Each reaction may run twice and then changes nothing."""

from __future__ import annotations

from django.db import transaction

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from provisioning import interface
from requests_app.negotiation import promises
from requests_app.priority import services as priority
from requests_app.quotas import services as quotas
from requests_app.tickets import lines
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.settling import locked, settle
from requests_app.triage.automatic import apply_policy
from requests_app.triage.snoozing import wake_after


def rank_ticket(event: Event) -> None:
    """A ticket was filed, answered or returned: its rank follows."""
    if event.subject.startswith("T-"):
        apart = str(event.payload.get("apart_from", ""))
        numbers = [parse_ref(ref, "T") for ref in (event.subject, apart) if ref]
        priority.rank_tickets(numbers, by=None)


def apply_policies(event: Event) -> None:
    """A ticket was filed or answered: a policy may approve it at once."""
    ticket = _ticket(event.subject)
    if ticket is not None:
        apply_policy(ticket)


def wake_ticket(event: Event) -> None:
    """Somebody said something: a ticket that sleeps until then is back in the inbox."""
    wake_after(event)


@transaction.atomic
def deliver_ticket(event: Event) -> None:
    """An order is ready: what was held is used, and its line is delivered; the ticket follows its lines."""
    cluster, order = str(event.payload.get("cluster", "")), _order(event)
    line = _locked_line(order)
    quotas.use_order(order_ref=order, cluster_ref=cluster, by=None)
    quotas.shrink_cluster(cluster_ref=cluster, gpus=interface.cluster_view(cluster).gpus, by=None)
    if line is None or not line.ordered_qty:
        return
    quantity = line.ordered_qty
    lines.deliver(line, quantity, ordered=True, by=None, cluster_ref=cluster)
    promises.keep_by_order(order_ref=order)
    settle(line.ticket, by=None, said={"order": order, "cluster": cluster})


@transaction.atomic
def return_ticket(event: Event) -> None:
    """An order came to nothing: its line alone is back at the desk, with the reason, and its quota is free.

    Of a line that is delivered in part what is missing comes back; what the team has stays its own.

    When the order was to keep a promise, the promise stands again, and so does what is set aside for it.
    """
    order, reason = _order(event), str(event.payload.get("reason", ""))
    line = _locked_line(order)
    if line is not None and line.ordered_qty and promises.fail_by_order(order_ref=order, reason=reason):
        settle(line.ticket, by=None)
        return
    quotas.free_order(order_ref=order, by=None)
    if line is None or not line.ordered_qty:
        return
    promises.cancel_of_line(line, reason=reason, by=None)
    if line.delivered_qty:
        lines.unorder(line, returned=True)
    else:
        lines.reopen(line, returned=True, reason=reason, by=None)
    settle(line.ticket, by=None, extra={"reason": reason}, said={"order": order, "reason": reason})


def free_quota(event: Event) -> None:
    """A cluster was given back: so is its quota."""
    cluster = str(event.payload.get("cluster", ""))
    if cluster:
        quotas.free_cluster(cluster_ref=cluster, by=None)


def _order(event: Event) -> str:
    return str(event.payload.get("order", ""))


def _locked_line(order: str) -> Line | None:
    """The line this order is for, with its ticket locked; None when it is about nothing of ours."""
    found = Line.objects.filter(order_ref=order).values_list("ticket", flat=True).first() if order else None
    if found is None:
        return None
    ticket = locked(Ticket(pk=found))
    line = Line.objects.get(ticket=ticket, order_ref=order)
    line.ticket = ticket
    return line


def _ticket(ref: str) -> Ticket | None:
    if not ref.startswith("T-"):
        return None
    rows = Ticket.objects.select_related("team", "offering_version__offering")
    return rows.filter(pk=parse_ref(ref, "T")).first()
