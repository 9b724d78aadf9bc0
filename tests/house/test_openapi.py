"""What the API promises changes only on purpose: `QM_SNAPSHOTS=write make check` writes what it is now."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

SNAPSHOT = Path(__file__).parent / "snapshots" / "openapi.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with GENERATOR_STATS.silence():
        made = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(made))


def test_schema_is_the_one_that_was_promised(schema: dict[str, Any]) -> None:
    text = json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("QM_SNAPSHOTS") == "write":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8"), "look at the difference, then QM_SNAPSHOTS=write"


def test_schema_is_made_without_a_warning() -> None:
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        SchemaGenerator().get_schema(request=None, public=True)
    said = {
        str(text): count
        for cache in (GENERATOR_STATS._warn_cache, GENERATOR_STATS._error_cache)
        for text, count in cache.items()
    }
    assert said == {}


def test_schema_is_openapi_3_1(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.1.")


def test_every_operation_is_named_tagged_and_may_answer_with_a_problem(schema: dict[str, Any]) -> None:
    bare = [
        f"{verb} {path}"
        for path, verbs in schema["paths"].items()
        for verb, operation in verbs.items()
        if isinstance(operation, dict)
        and not (
            operation.get("operationId") and operation.get("tags") and "default" in operation["responses"]
        )
    ]
    assert bare == []


def test_operation_names_are_unique(schema: dict[str, Any]) -> None:
    names = [
        op["operationId"]
        for verbs in schema["paths"].values()
        for op in verbs.values()
        if isinstance(op, dict)
    ]
    assert len(names) == len(set(names))
