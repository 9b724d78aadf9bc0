"""Quota arithmetic: None is unlimited, 0 is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from requests_app.quotas.arithmetic import Room, overdraft

counts = st.integers(0, 10_000)


@given(st.none() | counts, counts, counts, counts)
def test_what_fits_never_exceeds_the_limit(limit: int | None, used: int, held: int, gpus: int) -> None:
    room = Room(limit=limit, used=used, held=held)
    if gpus and room.fits(gpus):
        assert limit is None or used + held + gpus <= limit


@given(st.none() | counts, counts, counts, counts, st.integers(1, 16))
def test_nearest_yes_fits_and_is_whole_nodes(
    limit: int | None, used: int, held: int, gpus: int, step: int
) -> None:
    room = Room(limit=limit, used=used, held=held)
    nearest = room.nearest_yes(gpus, step=step)
    assert 0 <= nearest <= gpus
    assert room.fits(nearest)
    assert limit is None or nearest % step == 0


@given(st.none() | counts, counts, counts)
def test_overdraft_is_what_stands_above_the_limit(limit: int | None, used: int, held: int) -> None:
    over = overdraft(limit=limit, used=used, held=held)
    assert over == (0 if limit is None else max(0, used + held - limit))
