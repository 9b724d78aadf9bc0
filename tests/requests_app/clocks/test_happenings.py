"""Events become turns: lines decide a ticket, what was taken back never was, and a moved promise keeps its first day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from requests_app import events
from requests_app.clocks.happenings import LISTENED, Told, promises, story
from requests_app.clocks.intervals import Turn, answer_clock, decision_clock

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
TWO = frozenset({1, 2})


def told(*rows: tuple[str, dict[str, Any]]) -> list[Told]:
    return [
        Told(number=number, name=name, at=AT + number * HOUR, payload=payload, by_infra=True)
        for number, (name, payload) in enumerate(rows, start=1)
    ]


def turns(*rows: tuple[str, dict[str, Any]]) -> list[Turn]:
    return [each.turn for each in story(told(*rows), filed_at=AT, positions=TWO)][1:]


def test_a_ticket_is_decided_with_its_last_line() -> None:
    one, two = (events.LINE_DECIDED, {"position": 1}), (events.LINE_DECIDED, {"position": 2})
    assert turns(one) == [Turn.ANSWERED]
    assert turns(one, (events.TICKET_APPROVED, {}), two) == [Turn.ANSWERED, Turn.DECIDED]
    clock = decision_clock(story(told(one, two), filed_at=AT, positions=TWO))
    assert clock.stopped_at == AT + 2 * HOUR
    assert answer_clock(story(told(one, two), filed_at=AT, positions=TWO)).stopped_at == AT + HOUR


def test_a_line_that_is_reopened_is_undecided_again() -> None:
    both = [(events.LINE_DECIDED, {"position": 1}), (events.LINE_DECIDED, {"position": 2})]
    again = decision_clock(
        story(told(*both, (events.LINE_REOPENED, {"position": 2})), filed_at=AT, positions=TWO)
    )
    assert again.stopped_at is None
    assert again.intervals[-1].runs


def test_an_offer_is_with_the_team_until_it_says_something() -> None:
    assert turns(
        (events.OFFER_PROPOSED, {}),
        (events.OFFER_ASKED, {}),
        (events.OFFER_ANSWERED, {}),
        (events.OFFER_COUNTERED, {}),
    ) == [Turn.WITH_TEAM, Turn.WITH_DESK, Turn.WITH_TEAM, Turn.WITH_DESK]


def test_what_was_taken_back_never_was() -> None:
    assert turns((events.TICKET_MERGED, {}), (events.TICKET_UNDONE, {"undoes": [1]})) == []
    assert turns((events.TICKET_UNDONE, {"undoes": "nonsense"})) == []


def test_without_lines_in_the_ledger_the_ticket_says_it() -> None:
    assert turns((events.TICKET_APPROVED, {})) == [Turn.DECIDED]


def a_promise(name: str, due: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return name, {"position": 1, "quantity": 2, "first_due_on": "2026-12-04", "due_on": due, **more}


def test_a_moved_promise_keeps_its_first_day() -> None:
    found = promises(
        told(
            a_promise(events.PROMISE_MADE, "2026-12-04"),
            a_promise(events.PROMISE_MOVED, "2026-12-20"),
            a_promise(events.PROMISE_KEPT, "2026-12-20"),
        )
    )
    assert len(found) == 1
    assert (found[0].due_on, found[0].made_at, found[0].kept_at) == (
        date(2026, 12, 4),
        AT + HOUR,
        AT + 3 * HOUR,
    )


def test_a_promise_that_is_cancelled_is_nobodys_delay() -> None:
    rows = [a_promise(events.PROMISE_MADE, "2026-12-04"), a_promise(events.PROMISE_CANCELLED, "2026-12-04")]
    assert promises(told(*rows))[0].cancelled_at == AT + 2 * HOUR


def test_clocks_listen_to_events_that_there_are() -> None:
    assert set(LISTENED) <= {value for value in vars(events).values() if isinstance(value, str)}
