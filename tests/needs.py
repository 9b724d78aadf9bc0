"""What becomes of a test whose tool is missing? It is skipped, or it fails where that tool is required.

QM_TESTS_REQUIRE holds words separated by spaces, such as `browser ssh`: what a machine must have that calls itself complete.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

REQUIRED = "QM_TESTS_REQUIRE"


def need(what: str, reason: str) -> NoReturn:
    """Skip the test because of `reason`, unless `what` is required here."""
    if what in os.environ.get(REQUIRED, "").split():
        pytest.fail(f"{reason} ({REQUIRED} names {what})")
    pytest.skip(reason)
