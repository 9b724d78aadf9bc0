"""A ticket stands where its lines say, and a way leads there from wherever it stood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.tickets.deriving import LineFacts, derive, way
from requests_app.tickets.states import FINAL, MACHINE, OPEN, WITH_TEAM, TicketState

PENDING = LineFacts(verdict="pending")
OFFERED = LineFacts(verdict="pending", awaits_team=True)
RETURNED = LineFacts(verdict="pending", returned=True)
DONE = LineFacts(verdict="granted", granted=4, delivered=4)
RUNNING = LineFacts(verdict="granted", granted=4, ordered=4)
BY_HAND = LineFacts(verdict="granted", granted=1)
PROMISED = LineFacts(verdict="granted", granted=5, delivered=4, promised=1)
PART_RUNNING = LineFacts(verdict="granted", granted=5, ordered=4, promised=1)
GIVEN_UP = LineFacts(verdict="granted", granted=5, delivered=4, given_up=1)
DECLINED = LineFacts(verdict="declined")
DROPPED = LineFacts(verdict="dropped")


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([PENDING, RUNNING, DONE], "submitted"),
        ([OFFERED, PENDING], "submitted"),
        ([RETURNED, OFFERED, RUNNING], "returned"),
        ([OFFERED, RUNNING, BY_HAND], "offered"),
        ([BY_HAND, RUNNING, PROMISED], "approved"),
        ([RUNNING, PROMISED, DONE], "provisioning"),
        ([PART_RUNNING], "provisioning"),
        ([PROMISED, DONE, DECLINED], "promised"),
        ([DONE, DECLINED, DROPPED], "ready"),
        ([GIVEN_UP], "ready"),
        ([DECLINED, DROPPED], "declined"),
        ([DROPPED, DROPPED], "withdrawn"),
    ],
)
def test_who_has_to_act_decides(lines: list[LineFacts], state: str) -> None:
    assert derive(lines) == state


def test_a_question_of_the_desk_holds_whatever_is_undecided() -> None:
    assert derive([PENDING, RUNNING], asked_back=True) == "waiting"
    assert derive([RUNNING], asked_back=True) == "provisioning"


def test_a_ticket_without_lines_has_no_state_of_theirs() -> None:
    assert derive([]) is None


@st.composite
def facts(draw: st.DrawFn) -> LineFacts:
    """Any line that the database would let be."""
    verdict = draw(st.sampled_from(["pending", "granted", "declined", "dropped"]))
    if verdict == "pending":
        return LineFacts(verdict=verdict, awaits_team=draw(st.booleans()), returned=draw(st.booleans()))
    if verdict != "granted":
        return LineFacts(verdict=verdict)
    parts = draw(st.tuples(*[st.integers(0, 3)] * 5))
    ordered, promised, delivered, given_up, left = parts
    return LineFacts(
        verdict=verdict,
        granted=sum(parts),
        ordered=ordered,
        promised=promised,
        delivered=delivered,
        given_up=given_up,
    )


@given(st.lists(facts(), min_size=1, max_size=6))
def test_the_order_of_lines_is_of_no_matter(lines: list[LineFacts]) -> None:
    assert derive(lines) == derive(list(reversed(lines)))


@given(st.lists(facts(), min_size=1, max_size=6), st.booleans())
def test_the_desk_acts_before_the_team_the_team_before_people_and_people_before_machines(
    lines: list[LineFacts], asked_back: bool
) -> None:
    state = derive(lines, asked_back=asked_back)
    pending = [line for line in lines if line.verdict == "pending"]
    granted = [line for line in lines if line.verdict == "granted"]
    if state in {"submitted", "returned"}:
        assert any(not line.awaits_team for line in pending)
    elif state in WITH_TEAM:
        assert pending
    else:
        assert not pending
    if state == "ready":
        assert all(not (line.by_hand or line.ordered or line.promised) for line in granted)
    if state == "promised":
        assert all(not (line.by_hand or line.ordered) for line in granted)


DERIVED = sorted({derive([line]) for line in (
    PENDING, OFFERED, RETURNED, DONE, RUNNING, BY_HAND, PROMISED, DECLINED, DROPPED
)} - {None})  # fmt: skip
LATER = {
    # What lines can become from a state: nothing that is granted becomes undecided but by an order that failed.
    "submitted": DERIVED,
    "waiting": [state for state in DERIVED if state not in {"offered", "withdrawn"}],
    "offered": DERIVED,
    "returned": DERIVED,
    "approved": ["provisioning", "promised", "ready", "returned"],
    "provisioning": ["promised", "ready", "returned"],
    "promised": ["provisioning", "ready", "returned"],
    "ready": ["returned"],
}


@pytest.mark.parametrize(
    ("source", "target"), [(source, target) for source, targets in LATER.items() for target in targets]
)
def test_a_way_leads_wherever_lines_can_go_and_passes_no_end(source: str, target: str) -> None:
    state: str = source
    for action in way(source, target):
        assert state not in FINAL
        state = MACHINE.after(state, action)
    assert state == target


def test_there_is_no_way_out_of_an_end_that_lines_could_take() -> None:
    assert set(LATER) == set(OPEN)
    with pytest.raises(ValueError, match="no way"):
        way(TicketState.WITHDRAWN, TicketState.READY)
