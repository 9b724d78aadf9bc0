"""What does a workaround do when an order of its has ended? Each reaction may run twice and then changes nothing."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from provisioning import events as orders
from requests_app.workarounds import carrying_out
from requests_app.workarounds.borrowing import keep
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.states import HOLDING, WorkaroundState

WENT_WELL = frozenset({orders.ORDER_READY, orders.ORDER_DONE, orders.ORDER_RELEASED})


def after_order(event: Event) -> None:
    """The order that works on it ended: it holds or is gone; or it failed or is stuck, with the order's reason."""
    row = _row(str(event.payload.get("for", "")))
    if row is not None and row.order_ref == _text(event, "order"):
        _follow(row, event)
        return
    lender = _row(_text(event, "built_for"))
    if lender is not None and event.name == orders.ORDER_RELEASED:
        _given_back_early(lender)


def _follow(row: Workaround, event: Event) -> None:
    well = event.name in WENT_WELL
    why = _text(event, "reason") or f"{row.order_ref} came to nothing"
    if row.status == WorkaroundState.APPLYING and well:
        keep(row, order_ref="", cluster_ref=_text(event, "cluster") or row.cluster_ref)
        carrying_out.hold(row, by=None)
    elif row.status == WorkaroundState.APPLYING:
        keep(row, order_ref="", cluster_ref=row.cluster_ref)
        carrying_out.fail(row, why=why, by=None)
    elif row.status == WorkaroundState.REVERTING and well:
        keep(row, order_ref="", cluster_ref=row.cluster_ref)
        carrying_out.finish(row, by=None)
    elif row.status == WorkaroundState.REVERTING:
        keep(row, order_ref="", cluster_ref=row.cluster_ref)
        carrying_out.stuck(row, why=why)


def _given_back_early(row: Workaround) -> None:
    """The team released the borrowed cluster itself."""
    if row.status in HOLDING:
        carrying_out.take_back(row, why=carrying_out.ENDED, by=None)


def _row(ref: str) -> Workaround | None:
    if not ref.startswith("W-"):
        return None
    rows = Workaround.objects.select_for_update(of=("self",)).for_pages()
    return rows.filter(pk=parse_ref(ref, "W")).first()


def _text(event: Event, name: str) -> str:
    return str(event.payload.get(name, ""))
