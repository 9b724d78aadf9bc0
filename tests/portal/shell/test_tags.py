"""Do the small words of templates say what they should, and escape what people wrote?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from portal.accounts.models import User
from portal.kernel.clock import now


def said(text: str, **context: object) -> str:
    """The template rendered."""
    return Template(text).render(Context(context)).strip()


def test_chip_says_the_state_in_words_with_its_tone() -> None:
    chip = said('{% state_chip "in_use" %}')
    assert "chip-info" in chip
    assert ">in use<" in chip.replace("</svg>", ">")


def test_chip_of_nothing_is_not_measured() -> None:
    assert "chip-unknown" in said("{% state_chip verdict %}", verdict=None)


def test_chip_escapes_a_state_from_outside() -> None:
    assert "<b>" not in said("{% state_chip state %}", state="<b>bold</b>")


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(seconds=10), "just now"),
        (timedelta(minutes=12, seconds=40), "12 min ago"),
        (timedelta(hours=5, minutes=59), "5 h ago"),
        (timedelta(days=3, hours=4), "3 d ago"),
        (-timedelta(days=6, minutes=1), "in 6 d"),
    ],
)
def test_moment_is_said_as_people_say_it(distance: timedelta, words: str) -> None:
    assert words in said("{% moment at %}", at=now() - distance)


def test_moment_keeps_the_exact_time_for_machines() -> None:
    assert 'datetime="2024-03-01T10:00:00+00:00"' in said(
        "{% moment at %}", at=datetime(2024, 3, 1, 10, tzinfo=UTC)
    )


def test_nought_is_not_nothing() -> None:
    assert said("{{ value|quantity }}", value=0) == "0"
    assert said("{{ value|quantity }}", value=None) == "–"
    assert said("{{ value|limit }}", value=0) == "0"
    assert said("{{ value|limit }}", value=None) == "unlimited"


def test_bar_holds_within_its_whole() -> None:
    bar = said('{% bar 9 4 "9 of 4" %}')
    assert 'max="4"' in bar
    assert 'value="4"' in bar


def test_bar_of_an_empty_whole_is_empty() -> None:
    assert 'value="0"' in said('{% bar 0 0 "nothing" %}')


def test_split_bar_never_sticks_out() -> None:
    bar = said('{% split_bar 10 "over" ok=8 info=8 %}')
    assert 'x="80.00" y="0" width="20.00"' in bar


def test_signed_bar_goes_left_for_less_than_nothing() -> None:
    assert 'class="minus" x="25.00" y="1" width="25.00"' in said("{% signed_bar value 100 %}", value=-50)
    assert 'class="plus" x="50.00" y="1" width="50.00"' in said("{% signed_bar value 100 %}", value=100)


def test_person_is_named_and_nobody_is_the_portal() -> None:
    named = User(username="lead", first_name="<i>", last_name="Lead")
    assert "&lt;i&gt; Lead" in said("{% person user %}", user=named)
    assert "Quartermaster" in said("{% person user %}", user=None)


def test_ref_without_a_page_is_plain() -> None:
    assert "<a" not in said('{% ref_link "Z-4" %}')
    assert said('{% ref_link "" %}') == '<span class="muted">–</span>'


def test_quantity_has_its_unit_in_the_right_number() -> None:
    assert said("{{ value|counted:'nodes' }}", value=4) == "4 nodes"
    assert said("{{ value|counted:'nodes' }}", value=1) == "1 node"
    assert said("{{ value|counted:'TB' }}", value=1) == "1 TB"
    assert said("{{ value|counted:'' }}", value=1) == "1"
    assert said("{{ value|counted:'nodes' }}", value=None) == "– nodes"
