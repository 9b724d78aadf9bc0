"""Pages by keyset: every row once, in both directions, whatever is inserted meanwhile."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team
from portal.kernel.errors import Invalid
from portal.kernel.keyset import page_of

pytestmark = pytest.mark.django_db
ORDER = ("name", "id")


@pytest.fixture
def teams(db: None) -> list[Team]:
    names = ["b", "a", "b", "c", "b", "a", "d"]
    return [Team.objects.create(slug=f"t{number}", name=name) for number, name in enumerate(names)]


def walk(order: tuple[str, ...], size: int) -> list[int]:
    seen: list[int] = []
    cursor = ""
    while True:
        page = page_of(Team.objects.all(), order=order, cursor=cursor, size=size)
        seen += [row.pk for row in page.rows]
        cursor = page.next
        if not cursor:
            return seen


@pytest.mark.parametrize("order", [ORDER, ("-name", "-id"), ("id",), ("-id",)])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_walking_forward_shows_every_row_once_in_order(
    teams: list[Team], order: tuple[str, ...], size: int
) -> None:
    assert walk(order, size) == list(Team.objects.order_by(*order).values_list("pk", flat=True))


def test_walking_back_shows_the_page_before(teams: list[Team]) -> None:
    first = page_of(Team.objects.all(), order=ORDER, size=3)
    second = page_of(Team.objects.all(), order=ORDER, cursor=first.next, size=3)
    back = page_of(Team.objects.all(), order=ORDER, cursor=second.previous, size=3)
    assert [row.pk for row in back.rows] == [row.pk for row in first.rows]
    assert (first.previous, back.previous) == ("", "")


def test_row_inserted_meanwhile_shifts_nothing(teams: list[Team]) -> None:
    first = page_of(Team.objects.all(), order=ORDER, size=3)
    Team.objects.create(slug="early", name="a")
    second = page_of(Team.objects.all(), order=ORDER, cursor=first.next, size=50)
    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}
    assert len(first.rows) + len(second.rows) == len(teams)


@pytest.mark.parametrize("cursor", ["x", "AAAA:BBBB", "\x00"])
def test_damaged_cursor_is_said(teams: list[Team], cursor: str) -> None:
    with pytest.raises(Invalid, match="another look"):
        page_of(Team.objects.all(), order=ORDER, cursor=cursor)


def test_cursor_of_another_filter_is_refused(teams: list[Team]) -> None:
    first = page_of(Team.objects.all(), order=ORDER, size=3, scope="state=open")
    with pytest.raises(Invalid):
        page_of(Team.objects.all(), order=ORDER, cursor=first.next, size=3, scope="state=closed")
