"""Which filters does a person, or the desk, keep under a name? Stored as data, and held to the same rules as an address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.db import transaction

from portal.accounts.models import User
from portal.accounts.names import plain_name
from portal.kernel.errors import Invalid, NotAllowed, NotFound
from portal.ledger.services import record
from requests_app import events
from requests_app.triage.filters import Filters, read_filters
from requests_app.triage.inbox import known_names
from requests_app.triage.models import SavedView

MOST = 50


@transaction.atomic
def save_view(*, name: str, filters: Mapping[str, str], shared: bool = False, by: User) -> SavedView:
    """Keep filters under a name; one of one's own with the same name is written over. Invalid by field."""
    if not by.is_infra:
        raise NotAllowed("Only infra people have a desk.")
    try:
        name = plain_name(name, longest=60)
    except ValueError as problem:
        raise Invalid({"name": [str(problem)]}) from problem
    read = read_filters(filters, beside=frozenset())
    known_names(read)
    mine = SavedView.objects.filter(owner=by)
    if mine.count() >= MOST and not mine.filter(name=name).exists():
        raise Invalid({"name": [f"You have {MOST} views; throw one away first."]})
    row, _ = SavedView.objects.update_or_create(
        owner=by, name=name, defaults={"filters": read.as_query(), "shared": shared}
    )
    payload = {"name": name, "filters": row.filters, "shared": shared}
    record(events.VIEW_SAVED, subject=f"desk:view:{row.pk}", payload=payload, by=by)
    return row


@transaction.atomic
def drop_view(*, number: int, by: User) -> None:
    """Throw a view away: one's own; an admin throws away shared ones too."""
    row = SavedView.objects.visible_to(by).filter(pk=number).first()
    if row is None:
        raise NotFound("There is no such view.")
    if row.owner_id != by.pk and by.staff_role != "admin":
        raise NotAllowed("This view belongs to somebody else.")
    record(events.VIEW_DROPPED, subject=f"desk:view:{row.pk}", payload={"name": row.name}, by=by)
    row.delete()


def views_for(by: User) -> list[SavedView]:
    """One's own and the shared ones, by name."""
    return list(SavedView.objects.visible_to(by).select_related("owner").order_by("name", "id"))


def address(filters: Filters) -> str:
    """The query of the desk's address for these filters."""
    return urlencode(filters.as_query())
