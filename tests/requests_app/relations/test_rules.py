"""No request is blocked by itself, however long the way round."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import given
from hypothesis import strategies as st

from requests_app.relations.rules import Kind, closes_circle

Edge = tuple[int, int]


def over(edges: set[Edge]) -> Callable[[Iterable[int]], Iterable[int]]:
    return lambda front: [target for source, target in edges if source in set(front)]


def has_circle(edges: set[Edge]) -> bool:
    def reaches(start: int, goal: int, seen: frozenset[int]) -> bool:
        return any(
            target == goal or (target not in seen and reaches(target, goal, seen | {target}))
            for source, target in edges
            if source == start
        )

    return any(reaches(source, source, frozenset({source})) for source, _ in edges)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25))
def test_whatever_is_added_in_whatever_order_no_circle_comes_about(wanted: list[Edge]) -> None:
    kept: set[Edge] = set()
    for source, target in wanted:
        if not closes_circle(Kind.BLOCKED_BY, source, target, over(kept)):
            kept.add((source, target))
    assert not has_circle(kept)


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_only_what_would_close_a_circle_is_refused(wanted: list[Edge], source: int, target: int) -> None:
    kept: set[Edge] = set()
    for edge in wanted:
        if not closes_circle(Kind.BLOCKED_BY, *edge, over(kept)):
            kept.add(edge)
    refused = closes_circle(Kind.BLOCKED_BY, source, target, over(kept))
    assert refused == has_circle({*kept, (source, target)})


def test_what_merely_relates_may_go_round() -> None:
    assert not closes_circle(Kind.RELATES_TO, 1, 2, over({(2, 1)}))
    assert closes_circle(Kind.RELATES_TO, 1, 1, over(set()))
