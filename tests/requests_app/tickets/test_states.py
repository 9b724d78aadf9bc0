"""The ticket's machine: every state is reached, every end is an end, and who may do what."""

from __future__ import annotations

import pytest

from requests_app.tickets.access import Doing, Standing, allows, fits, may, possible
from requests_app.tickets.states import FINAL, MACHINE, OPEN, QUEUED, TicketState

REQUESTER = Standing(requester=True, member=True)
MEMBER = Standing(member=True)
LEAD = Standing(member=True, lead=True)
TRIAGER = Standing(triager=True, infra=True)
OPERATOR = Standing(infra=True)
STRANGER = Standing()
LEFT_THE_TEAM = Standing(requester=True)


def test_every_state_can_be_reached_from_the_first() -> None:
    reached, fresh = set(), {MACHINE.initial}
    while fresh:
        reached |= fresh
        fresh = {target for (source, _), target in MACHINE.table.items() if source in reached} - reached
    assert reached == set(MACHINE.states)


def test_every_state_leads_to_an_end() -> None:
    ends = set(FINAL)
    while True:
        more = {source for (source, _), target in MACHINE.table.items() if target in ends} - ends
        if not more:
            break
        ends |= more
    assert ends == set(MACHINE.states)


def test_open_final_and_queued_states_are_what_they_say() -> None:
    assert set(FINAL) == {"declined", "withdrawn", "merged", "closed"}
    assert set(OPEN) | set(FINAL) == set(MACHINE.states)
    assert set(QUEUED) == {"submitted", "returned"}


@pytest.mark.parametrize("state", TicketState)
def test_stranger_may_do_nothing(state: TicketState) -> None:
    assert possible(standing=STRANGER, state=state) == ()
    assert possible(standing=LEFT_THE_TEAM, state=state) == ()


@pytest.mark.parametrize("state", TicketState)
@pytest.mark.parametrize("doing", Doing)
def test_nobody_does_what_the_table_does_not_have(doing: Doing, state: TicketState) -> None:
    moves = {"answer", "withdraw", "close", "approve", "decline", "ask_back"}
    if doing in moves and fits(doing, state):
        assert doing in MACHINE.actions(state)


@pytest.mark.parametrize("doing", [Doing.APPROVE, Doing.DECLINE, Doing.ASK_BACK, Doing.DELIVER, Doing.TAKE])
def test_only_triagers_decide(doing: Doing) -> None:
    assert allows(doing, TRIAGER)
    assert not any(allows(doing, each) for each in (REQUESTER, MEMBER, LEAD, OPERATOR))


@pytest.mark.parametrize("doing", [Doing.WITHDRAW, Doing.CLOSE, Doing.CONFIRM_RELIEF])
def test_requester_and_lead_speak_for_the_team(doing: Doing) -> None:
    assert allows(doing, REQUESTER)
    assert allows(doing, LEAD)
    assert not any(allows(doing, each) for each in (MEMBER, TRIAGER, OPERATOR))


def test_every_member_answers_and_comments_and_only_infra_keeps_notes() -> None:
    assert may(Doing.ANSWER, standing=MEMBER, state="waiting")
    assert not may(Doing.ANSWER, standing=MEMBER, state="submitted")
    assert may(Doing.COMMENT, standing=MEMBER, state="closed")
    assert may(Doing.NOTE, standing=OPERATOR, state="closed")
    assert not may(Doing.NOTE, standing=LEAD, state="closed")


def test_triager_does_not_deliver_what_an_order_delivers() -> None:
    assert may(Doing.DELIVER, standing=TRIAGER, state="approved")
    assert not may(Doing.DELIVER, standing=TRIAGER, state="provisioning")
