"""The walls of the house: imports go down, files stay small, and one function writes every status."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from portal.kernel.moves import Stateful

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("portal", "provisioning", "requests_app")
LONGEST_FILE = 300
LONGEST_FUNCTION = 50
BANNED = {"utils", "helpers", "common", "misc", "manager", "handler", "base"}

# Longer than the budget, each with its reason. This list may only shrink.
LONG_FILES: dict[str, str] = {}


def sources() -> Iterator[Path]:
    for house in HOUSES:
        for path in sorted((ROOT / house).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_go_down_only() -> None:
    found = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stdout


def test_no_file_outgrows_its_room() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in sources()}
    long = {name for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert long - set(LONG_FILES) == set()
    assert set(LONG_FILES) - long == set(), "shrunk: take it off the list"


def test_no_function_outgrows_a_screen() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_modules_are_named_by_what_they_decide() -> None:
    assert [name_of(path) for path in sources() if path.stem in BANNED] == []


def test_every_module_says_which_question_it_answers() -> None:
    silent = [
        name_of(path)
        for path in sources()
        if (text := path.read_text("utf-8")).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


def writes_status(node: ast.AST) -> bool:
    """`x.status = …`, or `.update(status=…)`."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Attribute) and target.attr == "status" for target in targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        return any(keyword.arg == "status" for keyword in node.keywords)
    return False


def test_only_moves_writes_a_status() -> None:
    writers = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        if name_of(path) != "portal/kernel/moves.py" and "simulator" not in path.parts  # no rows there
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if writes_status(node)
    ]
    assert writers == []


def stateful() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if issubclass(model, Stateful)]


@pytest.mark.parametrize("model", stateful(), ids=lambda model: model.__name__)
def test_database_knows_the_states_of_every_machine(model: type[models.Model]) -> None:
    checks = [each for each in model._meta.constraints if isinstance(each, models.CheckConstraint)]
    assert any("status__in" in str(check.condition) for check in checks), (
        f"{model.__name__} has no status_check"
    )


def quantities() -> list[tuple[str, models.Field]]:
    kinds = (models.PositiveIntegerField, models.PositiveSmallIntegerField, models.PositiveBigIntegerField)
    names = ("qty", "quantity", "gpus", "nodes", "limit", "used", "held")
    return [
        (f"{model.__name__}.{field.name}", field)
        for model in apps.get_models()
        if model._meta.app_label in HOUSES
        for field in model._meta.get_fields()
        if isinstance(field, models.IntegerField)
        and not isinstance(field, kinds)
        and any(name in field.name for name in names)
        and not field.name.endswith("_change")
    ]


def test_database_refuses_a_negative_quantity() -> None:
    assert [name for name, _ in quantities()] == []
