"""Tests that get in each other's way, or share something costly, run in one process."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_group_of_a_test_reaches_whoever_hands_tests_out(request: pytest.FixtureRequest) -> None:
    """It goes there in the test's id; pytest 9.2 and xdist 3.8 lose it without a word."""
    grouped = bool(request.config.getoption("loadgroup", False))
    assert request.node.nodeid.endswith("@together") is grouped
