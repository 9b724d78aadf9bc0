"""Does every state of the house have a tone?"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from portal.kernel.transitions import Machine
from portal.shell.icons import MARKS
from portal.shell.tones import Tone, known, tone_of, word_of
from provisioning.contracts import StepState, VerdictValue

ROOT = Path(__file__).resolve().parents[3]


def machines() -> list[Machine]:
    """Every machine of every states.py."""
    found = []
    for path in sorted(ROOT.glob("*/*/states.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        found += [value for value in vars(module).values() if isinstance(value, Machine)]
    return found


def test_chip_knows_every_state_of_every_machine() -> None:
    states = {(machine.name, str(state)) for machine in machines() for state in machine.states}
    assert len(states) > 20
    assert sorted(pair for pair in states if not known(pair[1])) == []


@pytest.mark.parametrize("value", [*StepState, *VerdictValue])
def test_chip_knows_every_word_that_crosses_the_door(value: str) -> None:
    assert known(str(value))


def test_unheard_state_is_unknown_and_not_good() -> None:
    assert tone_of("splendid") is Tone.UNKNOWN


def test_not_measured_is_neither_good_nor_bad() -> None:
    assert tone_of("not_measured") is Tone.UNKNOWN
    assert word_of("not_measured") == "not measured"


def test_every_tone_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == {str(tone) for tone in Tone}
    assert len(set(MARKS.values())) == len(MARKS)
