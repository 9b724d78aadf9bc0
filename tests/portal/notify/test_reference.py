"""The page of notifications says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from portal.notify.api import urlpatterns as inbox_urls
from portal.notify.kinds import KINDS, MAIL_DEFAULTS, STAFF_ONLY, Topic, When
from portal.notify.states import MACHINE
from portal.wiring import REACTIONS, TELL
from requests_app.conversation.api import urlpatterns as talk_urls

PAGE = (Path(__file__).resolve().parents[3] / "docs/reference/notifications.md").read_text("utf-8")
WORDS = {When.NOW: "at once", When.DIGEST: "daily summary"}


def test_states_are_drawn() -> None:
    assert MACHINE.diagram() in PAGE


def test_every_topic_has_its_row_and_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` [^|]*\| yes \| ([^|]+) \|$", PAGE, re.MULTILINE))
    assert set(rows) == set(Topic)
    assert all(said.strip().startswith(WORDS[MAIL_DEFAULTS[Topic(topic)]]) for topic, said in rows.items())


def test_every_address_is_listed() -> None:
    named = {
        str(each.pattern)
        .replace("<str:ref>", "T-12")
        .replace("<int:number>", "34")
        .replace("<str:public_id>", "ID")
        for each in (*inbox_urls, *talk_urls)
    }
    assert set(re.findall(r"/api/v1/([^`]+)`", PAGE)) == named


def test_kinds_that_happen_are_wired() -> None:
    happening = {name for name in KINDS if name in REACTIONS}
    assert {"ticket.commented", "ticket.declined", "token.leaked"} <= happening
    assert all(REACTIONS[name][-1] == TELL or TELL in REACTIONS[name] for name in happening)
    assert set(KINDS) >= STAFF_ONLY


def test_words_of_a_comment_are_found_as_they_read_now() -> None:
    for name in ("ticket.commented", "ticket.comment_edited", "ticket.comment_hidden"):
        assert "requests_app.search.reactions.index_ticket" in REACTIONS[name]
