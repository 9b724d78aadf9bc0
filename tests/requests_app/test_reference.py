"""The reference pages of catalogue and tickets say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from requests_app.catalogue.offering_shape import FULFILMENTS, NEEDED, OFFERING, PILLARS
from requests_app.catalogue.questions import FORMATS, QuestionType
from requests_app.tickets.access import Doing, Standing, allows, fits
from requests_app.tickets.api import urlpatterns
from requests_app.tickets.states import MACHINE, TicketState

DOCS = Path(__file__).resolve().parents[2] / "docs/reference"
OFFERINGS = (DOCS / "offerings.md").read_text("utf-8")
TICKETS = (DOCS / "tickets.md").read_text("utf-8")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table below a line that begins with `heading`, by its first cell."""
    below = page.split(f"\n{heading}", 1)[1].split("\n")
    table = list(_lines_of_table(below))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {row[0]: row[1:] for row in cells if not set(row[0]) <= {"-"}}


def _lines_of_table(lines: list[str]) -> list[str]:
    start = next(index for index, line in enumerate(lines) if line.startswith("|"))
    end = next((index for index in range(start, len(lines)) if not lines[index].startswith("|")), len(lines))
    return lines[start:end]


def test_ticket_diagram_is_printed_from_the_table() -> None:
    assert f"```mermaid\n{MACHINE.diagram()}\n```" in TICKETS


def test_every_state_is_explained() -> None:
    assert set(rows(TICKETS, "| state | means")) == {f"`{state}`" for state in TicketState}


PERSONAS = {
    "requester": Standing(requester=True, member=True),
    "lead": Standing(member=True, lead=True),
    "other members": Standing(member=True),
    "triager": Standing(triager=True, infra=True),
    "operator": Standing(infra=True),
}
SAID = {
    "see it, comment": [Doing.COMMENT],
    "answer": [Doing.ANSWER],
    "withdraw": [Doing.WITHDRAW],
    "close": [Doing.CLOSE],
    "say that the team can work again": [Doing.CONFIRM_RELIEF],
    "note for infra only": [Doing.NOTE],
    "take, approve, decline, ask back, offer, deliver": [
        Doing.TAKE,
        Doing.APPROVE,
        Doing.DECLINE,
        Doing.ASK_BACK,
        Doing.OFFER,
        Doing.DELIVER,
    ],
    "accept an offer or part of it, counter it": [Doing.ACCEPT, Doing.COUNTER],
    "ask something about an offer": [Doing.ASK_ABOUT_OFFER],
    "keep, move or cancel a promise": [Doing.KEEP_PROMISE, Doing.MOVE_PROMISE],
}


def test_access_table_says_what_access_allows() -> None:
    table = rows(TICKETS, "## Who may do what")
    assert set(table) - {"what"} == set(SAID)
    for what, doings in SAID.items():
        for doing in doings:
            allowed = ["yes" if allows(doing, standing) else "no" for standing in PERSONAS.values()]
            assert table[what][1:] == allowed, what


@pytest.mark.parametrize("what", ["answer", "withdraw", "close"])
def test_access_table_says_in_which_states(what: str) -> None:
    named = set(re.findall(r"`([a-z]+)`", rows(TICKETS, "## Who may do what")[what][0]))
    assert named == {state for state in TicketState if fits(Doing(what), state)}


def test_every_address_of_the_api_is_listed() -> None:
    known = {str(each.pattern).replace("<str:ref>", "T-12") for each in urlpatterns}
    assert set(re.findall(r"/api/v1/(tickets[^`]*)`", TICKETS)) == known


def test_every_key_type_and_fulfilment_of_offerings_is_documented() -> None:
    keys = {name for cell in rows(OFFERINGS, "| key | says") for name in re.findall(r"`([a-z_]+)`", cell)}
    assert keys == set(OFFERING["properties"])
    question = OFFERING["properties"]["schema"]["items"]["properties"]
    asked = {name for cell in rows(OFFERINGS, "## A question") for name in re.findall(r"`([a-z_]+)`", cell)}
    assert asked == set(question)
    assert {cell.strip("`") for cell in rows(OFFERINGS, "| type | answer")} - {"type"} == {
        each.value for each in QuestionType
    }
    needs = rows(OFFERINGS, "| fulfilment | a yes")
    for fulfilment in FULFILMENTS:
        named = re.findall(r"`([a-z_]+)` \(([a-z_]+)\)", needs[f"`{fulfilment}`"][1])
        assert dict(named) == {name: kind.value for name, kind in NEEDED[fulfilment].items()}
    for word in (*PILLARS, *FORMATS):
        assert f"`{word}`" in OFFERINGS
