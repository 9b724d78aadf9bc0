"""Which orders does a list show, and to whom? Shared by pages and API."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.refs import parse_ref
from provisioning.contracts import OrderKind
from provisioning.orders.models import Order
from provisioning.orders.states import OrderState
from provisioning.orders.telling import with_story

PAGE = 50
UNFINISHED = "unfinished"


def orders_of(
    user: User | AnonymousUser, *, state: str = "", kind: str = "", team: str = ""
) -> QuerySet[Order]:
    """Orders this person may see, newest first, with what `order_views` reads."""
    if state and state != UNFINISHED and state not in set(OrderState):
        known = ", ".join([*OrderState, UNFINISHED])
        raise Invalid({"state": [f"There is no such state of an order. Known: {known}."]})
    if kind and kind not in set(OrderKind):
        raise Invalid({"kind": [f"There is no such kind. Known: {', '.join(OrderKind)}."]})
    orders = Order.objects.visible_to(user)
    if state == UNFINISHED:
        orders = orders.unfinished()
    elif state:
        orders = orders.filter(status=state)
    if kind:
        orders = orders.filter(kind=kind)
    if team:
        orders = orders.filter(team__slug=team)
    return with_story(orders).order_by("-id")


def order_by_ref(user: User | AnonymousUser, ref: str) -> Order:
    """One order; NotFound when there is none that this person may see."""
    order = with_story(Order.objects.visible_to(user)).filter(pk=parse_ref(ref, "O")).first()
    if order is None:
        raise NotFound("There is no such order.")
    return order
