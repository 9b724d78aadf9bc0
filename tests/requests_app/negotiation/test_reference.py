"""The page about offers and promises says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from portal.accounts.access import Scope
from requests_app.negotiation.api import urlpatterns
from requests_app.negotiation.models import Reliability
from requests_app.negotiation.proposals import CLASSES, KINDS
from requests_app.negotiation.states import OFFER, PROMISE
from requests_app.tickets.models import LineVerdict

PAGE = (Path(__file__).resolve().parents[3] / "docs/reference/negotiation.md").read_text("utf-8")


def first_column(head: str) -> set[str]:
    """The words in the first column of the table after `head`."""
    table = PAGE.split(head, 1)[1].split("\n\n", 1)[0]
    return set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))


def test_tables_list_every_verdict_kind_and_state() -> None:
    assert first_column("| verdict | means |") == set(LineVerdict.values)
    assert first_column("| kind | for one line |") == set(KINDS)
    assert first_column("| state | came about by |") == {str(state) for state in OFFER.states}
    assert first_column("| state | means |") == {str(state) for state in PROMISE.states}


def test_classes_are_the_same_everywhere() -> None:
    assert set(CLASSES) == set(Reliability.values)
    assert all(f"`{name}`" in PAGE for name in CLASSES)


def test_every_address_of_the_api_is_listed() -> None:
    known = {
        str(each.pattern)
        .replace("<str:ref>", "T-12")
        .replace("<int:revision>", "2")
        .replace("<int:number>", "7")
        for each in urlpatterns
    }
    assert set(re.findall(r"/api/v1/([^`]*)`", PAGE)) == known


def test_scopes_are_named() -> None:
    assert f"`{Scope.OFFERS_ACCEPT}`" in PAGE
