"""A test whose tool is missing is skipped, and fails where that tool is required."""

from __future__ import annotations

import pytest

from tests.needs import REQUIRED, need


@pytest.mark.parametrize("required", ["", "browser", "sshd browser"])
def test_test_without_its_tool_is_skipped(monkeypatch: pytest.MonkeyPatch, required: str) -> None:
    monkeypatch.setenv(REQUIRED, required)
    with pytest.raises(pytest.skip.Exception, match="no sshd here"):
        need("ssh", "no sshd here")


def test_test_without_a_required_tool_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIRED, "browser ssh")
    with pytest.raises(pytest.fail.Exception, match="no sshd here"):
        need("ssh", "no sshd here")
