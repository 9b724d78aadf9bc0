"""A machine knows what can happen and says what could instead."""

from __future__ import annotations

from enum import StrEnum

import pytest

from portal.kernel.errors import IllegalMove
from portal.kernel.transitions import Machine


class Door(StrEnum):
    SHUT = "shut"
    OPEN = "open"
    GONE = "gone"


class Push(StrEnum):
    OPEN = "open"
    SHUT = "shut"
    REMOVE = "remove"


DOOR = Machine(
    name="door",
    initial=Door.SHUT,
    table={
        (Door.SHUT, Push.OPEN): Door.OPEN,
        (Door.OPEN, Push.SHUT): Door.SHUT,
        (Door.OPEN, Push.REMOVE): Door.GONE,
    },
)


def test_machine_names_the_state_after_an_action() -> None:
    assert DOOR.after("shut", Push.OPEN) is Door.OPEN


def test_machine_refuses_what_is_not_in_its_table_and_says_what_is() -> None:
    with pytest.raises(IllegalMove, match="possible now: shut, remove") as refusal:
        DOOR.after("open", Push.OPEN)
    assert refusal.value.data["possible"] == ["shut", "remove"]


def test_machine_refuses_a_state_it_does_not_know() -> None:
    with pytest.raises(IllegalMove, match="nothing"):
        DOOR.after("ajar", Push.OPEN)


def test_state_without_a_way_out_is_final() -> None:
    assert [state for state in DOOR.states if DOOR.is_final(state)] == [Door.GONE]


def test_diagram_draws_every_row_of_the_table() -> None:
    assert "shut --> open: open" in DOOR.diagram()
    assert DOOR.diagram().count("-->") == len(DOOR.table) + 2
