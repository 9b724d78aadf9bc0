"""One team's ten asks don't fill the head of the queue when work is picked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.flood import Waiting, spread

HOUR = 3600


def row(ticket: int, team: int, hours: float) -> Waiting:
    return Waiting(ticket=ticket, team=team, key=round(hours * HOUR))


def picked(rows: list[Waiting]) -> list[int]:
    return [each.ticket for each in spread(rows, shift=6 * HOUR)]


def test_each_further_ticket_of_a_team_steps_back_by_six_hours() -> None:
    flood = [row(1, 7, 0), row(2, 7, 1), row(3, 7, 2), row(4, 8, 5), row(5, 9, 13)]
    assert picked(flood) == [1, 4, 2, 5, 3]


def test_teams_with_one_ticket_each_keep_the_order() -> None:
    assert picked([row(1, 1, 0), row(2, 2, 1), row(3, 3, 2)]) == [1, 2, 3]


rows = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 100)), max_size=30).map(
    lambda pairs: sorted(
        (row(number, team, hours) for number, (team, hours) in enumerate(pairs, start=1)),
        key=lambda each: (each.key, each.ticket),
    )
)


@given(rows)
def test_nothing_is_lost_and_no_team_overtakes_itself(found: list[Waiting]) -> None:
    result = spread(found, shift=6 * HOUR)
    assert sorted(each.ticket for each in result) == sorted(each.ticket for each in found)
    for team in range(1, 5):
        own = [each for each in found if each.team == team]
        assert [each for each in result if each.team == team] == own


@given(rows)
def test_first_of_all_stays_first(found: list[Waiting]) -> None:
    assert spread(found, shift=6 * HOUR)[:1] == found[:1]
