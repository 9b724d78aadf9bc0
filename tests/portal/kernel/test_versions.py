"""Who changes what others change too says which version was seen, and hears it when that is old."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kernel.errors import NotSeen, Stale
from portal.kernel.versions import etag_of, seen_version, tags_in


def test_the_tag_of_the_current_version_counts() -> None:
    assert seen_version({"If-Match": '"v7"'}, {}, 7) == 7
    assert seen_version({"If-Match": '"v6", "v7"'}, {}, 7) == 7
    assert seen_version({"If-Match": "*"}, {}, 7) == 7


@pytest.mark.parametrize("header", ['"v6"', 'W/"v7"', "v7", "", '"v7', '"v6",, "v7"'])
def test_any_other_tag_is_stale_and_told_the_current_one(header: str) -> None:
    with pytest.raises(Stale) as caught:
        seen_version({"If-Match": header}, {"version": 7}, 7)
    assert caught.value.status == 412
    assert caught.value.data == {"etag": '"v7"', "version": 7}


def test_without_a_tag_the_body_says_it() -> None:
    body = {"version": 3, "note": "x"}
    assert seen_version({}, body, 7) == 3
    assert body == {"note": "x"}


def test_silence_is_not_a_version() -> None:
    with pytest.raises(NotSeen) as caught:
        seen_version({}, {}, 7)
    assert caught.value.status == 428
    assert caught.value.data["etag"] == etag_of(7)


@given(st.text(max_size=60))
def test_no_header_breaks_it(header: str) -> None:
    assert tags_in(header) is None or isinstance(tags_in(header), frozenset)
