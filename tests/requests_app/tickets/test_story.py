"""Every state is told in plain words, and every event in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning import events as order_events
from requests_app import events
from requests_app.tickets.sentences import SHOWN_OTHERWISE, say
from requests_app.tickets.states import TicketState
from requests_app.tickets.story import Facts, tell

AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def facts(state: str, **more: Any) -> Facts:
    return Facts(state=state, since=AT, **more)


@pytest.mark.parametrize("state", TicketState)
def test_requester_reads_where_it_is_what_is_next_and_who_has_it(state: TicketState) -> None:
    story = tell(facts(state, lead_time="A day."))
    assert story.where
    assert story.next
    assert story.who
    assert story.since == AT
    assert story.tone != "unknown"


def test_requester_reads_the_place_in_the_queue() -> None:
    assert "being worked out" in tell(facts("submitted")).where
    assert "next in the queue" in tell(facts("submitted", ahead=0)).where
    assert "One request is ahead" in tell(facts("submitted", ahead=1)).where
    assert "7 requests are ahead" in tell(facts("returned", ahead=7)).where


def test_requester_reads_the_desks_own_words() -> None:
    assert tell(facts("waiting", question="Which rack?")).detail == "Which rack?"
    declined = tell(facts("declined", reason="No nodes.", nearest_yes="Two nodes now."))
    assert (declined.detail, declined.next) == ("No nodes.", "What would work instead: Two nodes now.")


def test_requester_reads_what_the_order_does() -> None:
    story = tell(facts("provisioning", order="O-4", order_now="Validating: 4 nodes."))
    assert story.where == "Validating: 4 nodes."
    assert "O-4" in story.who


def test_an_unknown_state_is_said() -> None:
    assert tell(facts("elsewhere")).where == "In the state elsewhere."


NAMES = [
    value
    for house in (events, order_events)
    for name, value in vars(house).items()
    if name.isupper() and isinstance(value, str)
]
_json = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)
_keys = st.sampled_from(
    ["lines", "reason", "reasons", "note", "seconds", "head_start", "question", "now", "old", "new"]
)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_has_a_sentence_without_its_payload(name: str) -> None:
    assert say(name, {}).title


@settings(deadline=None)
@given(name=st.sampled_from([*NAMES, "something.new"]), payload=st.dictionaries(_keys, _json, max_size=4))
def test_no_payload_breaks_a_story(name: str, payload: dict[str, Any]) -> None:
    assert say(name, payload).title


def test_ticket_events_have_sentences_of_their_own() -> None:
    own = {value for name, value in vars(events).items() if name.startswith("TICKET_")} - SHOWN_OTHERWISE
    for name in own:
        assert say(name, {}).title != name.replace(".", " ").replace("_", " ").capitalize(), name
