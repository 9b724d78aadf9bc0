"""The docs say what the code does: every setting, every command, every decision is there."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from django.core.management import get_commands

from portal.config import Config

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "docs/reference/settings.md").read_text("utf-8")
COMMANDS = (ROOT / "docs/reference/commands.md").read_text("utf-8")
HOUSES = {"portal", "provisioning", "requests_app"}


def test_every_setting_is_documented_with_its_sentence() -> None:
    missing = [
        entry.name
        for entry in fields(Config)
        if entry.metadata and f"| `PORTAL_{entry.name.upper()}` | {entry.metadata['says']} |" not in SETTINGS
    ]
    assert missing == []


def test_no_setting_is_documented_that_does_not_exist() -> None:
    known = {f"PORTAL_{entry.name.upper()}" for entry in fields(Config) if entry.metadata}
    assert set(re.findall(r"^\| `(PORTAL_[A-Z_]+)`", SETTINGS, re.MULTILINE)) == known


def test_every_command_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if app in HOUSES}
    assert set(re.findall(r"^## `manage\.py ([a-z_]+)", COMMANDS, re.MULTILINE)) == ours


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_no_page_names_a_path_of_one_machine_or_a_registry() -> None:
    suspicious = re.compile(
        r"(?<![A-Za-z0-9_.])/(work|farm|root)/|https?://(pypi|files\.pythonhosted|registry)"
    )
    found = [
        str(path.relative_to(ROOT))
        for path in [*ROOT.glob("*.md"), *ROOT.glob("*.txt"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile"]
        if path.is_file() and suspicious.search(path.read_text("utf-8"))
    ]
    assert found == []


def test_every_known_fault_of_others_is_held_by_tests_that_there_are() -> None:
    page = (ROOT / "docs/reference/known-faults.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| report")]
    assert len(rows) >= 26
    assert [row for row in rows if "::test_" not in row] == []
    named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_[a-z_]+)`", page)
    missing = [f"{file}::{name}" for file, name in named if not _defines(ROOT / file, name)]
    assert missing == []


def _defines(file: Path, name: str) -> bool:
    return file.is_file() and f"def {name}(" in file.read_text("utf-8")
