"""How is a list of a million rows paged? By where the last page ended, never by counting from the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from portal.kernel.errors import Invalid

M = TypeVar("M", bound=Model)
SALT = "keyset"


@dataclass(frozen=True)
class Page(Generic[M]):
    """Rows of one page and the cursors of its neighbours; an empty cursor means that there is none."""

    rows: list[M]
    next: str
    previous: str


def page_of(
    rows: QuerySet[M], *, order: Sequence[str], cursor: str = "", size: int = 50, scope: str = ""
) -> Page[M]:
    """The page after (or before) `cursor`.

    `order` is a total order of columns without NULLs, all in one direction, the id last: `("rank_key", "id")` or
    `("-at", "-id")`. `scope` ties a cursor to the filters it was made with. Invalid when the cursor isn't ours.
    """
    names = [name.lstrip("-") for name in order]
    descending = order[0].startswith("-")
    backwards, values = _read(cursor, len(names), scope)
    if values is not None:
        rows = rows.filter(_beyond(names, values, descending=descending != backwards))
    wanted = [f"-{name}" if descending != backwards else name for name in names]
    found = list(rows.order_by(*wanted)[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    has_next = more if not backwards else True
    has_previous = more if backwards else values is not None
    return Page(
        rows=found,
        next=_write(found[-1], names, scope, backwards=False) if found and has_next else "",
        previous=_write(found[0], names, scope, backwards=True) if found and has_previous else "",
    )


def pager_links(request: HttpRequest, page: Page[Any]) -> dict[str, str]:
    """Addresses of the neighbours for `parts/pager.html`: `newer` and `older`, empty where there is none."""

    def link(cursor: str) -> str:
        if not cursor:
            return ""
        query = request.GET.copy()
        query["cursor"] = cursor
        return f"?{query.urlencode()}"

    return {"newer": link(page.previous), "older": link(page.next)}


def _beyond(names: Sequence[str], values: Sequence[Any], *, descending: bool) -> Q:
    """The row comparison (a, b) > (x, y), spelled so that an index on (a, b) serves it."""
    step = "lt" if descending else "gt"
    condition = Q(**{f"{names[-1]}__{step}": values[-1]})
    for name, value in reversed(list(zip(names[:-1], values[:-1], strict=True))):
        condition = Q(**{f"{name}__{step}": value}) | (Q(**{name: value}) & condition)
    if len(names) > 1:
        condition &= Q(**{f"{names[0]}__{step}e": values[0]})
    return condition


def _write(row: Model, names: Sequence[str], scope: str, *, backwards: bool) -> str:
    values = [getattr(row, name) for name in names]
    plain = [value.isoformat() if isinstance(value, date) else value for value in values]
    return signing.dumps([backwards, scope, plain], salt=SALT, compress=True)


def _read(cursor: str, width: int, scope: str) -> tuple[bool, list[Any] | None]:
    if not cursor:
        return False, None
    try:
        backwards, made_for, values = signing.loads(cursor, salt=SALT)
    except (signing.BadSignature, ValueError, TypeError) as problem:
        raise Invalid({"cursor": ["This page address is damaged; start from the first page."]}) from problem
    if made_for != scope or len(values) != width:
        raise Invalid(
            {"cursor": ["This page address belongs to another list or filter; start from the first page."]}
        )
    return bool(backwards), list(values)
