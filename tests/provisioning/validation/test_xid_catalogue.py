"""Is the catalogue whole, each code in one class, and is an unknown code loud?"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from provisioning.validation.finding import FindingLevel
from provisioning.validation.xid_catalogue import PATH, catalogue_from, xid_catalogue


@pytest.fixture
def data() -> dict[str, Any]:
    return copy.deepcopy(yaml.safe_load(PATH.read_text()))


def test_the_catalogue_names_its_source_and_date() -> None:
    assert "2025-10-29" in xid_catalogue().source
    assert xid_catalogue().version


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (13, "application"),
        (63, "memory_trend"),
        (79, "node_reboot"),
        (119, "gpu_reset"),
        (48, "workflow"),
        (142, "vendor"),
        (172, "no_action"),
    ],
)
def test_known_codes_are_in_their_class(code: int, name: str) -> None:
    assert xid_catalogue().judge(code).name == name


@pytest.mark.parametrize("code", [0, 1, 999, 123456])
def test_an_unknown_code_fails(code: int) -> None:
    found = xid_catalogue().judge(code)
    assert (found.name, found.level) == ("unknown", FindingLevel.FAIL)


def test_109_needs_a_reset_and_a_contained_94_does_not() -> None:
    assert xid_catalogue().judge(109).level is FindingLevel.FAIL
    assert xid_catalogue().judge(94).level is FindingLevel.WARN


def test_an_nvlink5_line_without_a_fatality_word_is_judged_by_its_class() -> None:
    assert xid_catalogue().judge(149).level is FindingLevel.FAIL
    assert xid_catalogue().judge(149, fatality="nonfatal").level is FindingLevel.WARN


def test_a_code_in_two_classes_is_refused(data: dict[str, Any]) -> None:
    data["classes"]["informational"]["codes"].append(79)
    with pytest.raises(ValueError, match="79"):
        catalogue_from(data)
