"""Does the reference page say what the code does?"""

from __future__ import annotations

from pathlib import Path

from provisioning.validation.checks import CHECKS
from provisioning.validation.checks.page import table
from provisioning.validation.policy import PROFILES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "checks.md"


def test_the_page_has_exactly_the_rows_of_the_code() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert rows == table().splitlines()


def test_every_check_tells_its_rule_and_its_source() -> None:
    for check in CHECKS.values():
        assert check.told.passes, check.id
        assert check.told.fails, check.id
        assert check.told.not_measured, check.id
        assert check.source, check.id


def test_every_profile_requires_only_checks_that_exist() -> None:
    for profile, required in PROFILES.items():
        assert required <= set(CHECKS), profile
