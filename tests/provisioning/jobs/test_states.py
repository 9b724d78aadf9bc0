"""The state table, its words and its page say the same."""

from __future__ import annotations

import re

import pytest
from django.conf import settings

from portal.shell.tones import known
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.queries import GROUPS
from provisioning.jobs.states import (
    ENDED,
    FINAL_ENDINGS,
    JOB_MACHINE,
    OWNED,
    RETRIED,
    WHOLE,
    Ending,
    JobState,
    Reason,
)

PAGE = settings.BASE_DIR / "docs" / "reference" / "jobs.md"
DIAGRAM = re.compile(r"<!-- diagram:begin -->\n(.*?)<!-- diagram:end -->", re.DOTALL)


def test_page_shows_the_table_as_it_is() -> None:
    """To renew it, put what the failure prints between the marks."""
    found = DIAGRAM.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[1] == f"```mermaid\n{JOB_MACHINE.diagram()}\n```\n"


@pytest.mark.parametrize("word", [*JobState, *Ending, *(reason for reason in Reason if reason)])
def test_page_explains_every_state_ending_and_reason(word: str) -> None:
    assert f"`{word}`" in PAGE.read_text(encoding="utf-8")


def test_page_says_which_reasons_are_tried_again() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (yes|no)\b.*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {reason for reason, again in rows if again == "yes"} == {str(reason) for reason in RETRIED}


def test_every_state_is_queued_owned_a_wholes_or_ended() -> None:
    assert {JobState.QUEUED} | OWNED | WHOLE | ENDED == set(JobState)
    assert len(OWNED) + len(WHOLE) + len(ENDED) + 1 == len(JobState)


def test_no_whole_can_be_claimed_or_lost_and_each_can_be_cancelled() -> None:
    for state in WHOLE:
        actions = {str(action) for action in JOB_MACHINE.actions(state)}
        assert "cancel" in actions
        assert not actions & {"claim", "start", "lose"}


def test_every_owned_job_can_be_lost_and_cancelled() -> None:
    for state in OWNED:
        assert {"lose", "cancel"} <= {str(action) for action in JOB_MACHINE.actions(state)}


def test_only_a_lost_job_is_ever_left_again() -> None:
    assert {state for state in ENDED if not JOB_MACHINE.is_final(state)} == {JobState.LOST}


def test_every_state_is_in_one_tab() -> None:
    shown = [state for group in GROUPS.values() for state in group]
    assert sorted(shown) == sorted(JobState)


@pytest.mark.parametrize("word", [*JobState, *FINAL_ENDINGS])
def test_every_state_and_ending_has_a_tone(word: str) -> None:
    assert known(word)


def test_silence_of_a_playbook_is_never_allowed_longer_than_the_whole() -> None:
    assert all(book.idle <= book.timeout for book in REGISTRY.values())
