"""How many tasks does a playbook have for a node? Counted in its files, for the first run, which has nothing to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_PLACES = ("pre_tasks", "tasks", "post_tasks")
_INCLUDES = ("include_tasks", "import_tasks")
DEEPEST = 10


def count_tasks(ansible_dir: Path, file: str) -> int | None:
    """Tasks of every play, with those of its roles and of what they include; None when a file can't be read.

    A task that is skipped counts, as it does when it runs; loops count once; rescues and handlers, which are the exception, don't.
    """
    try:
        plays = _load(ansible_dir / "playbooks" / file)
        return sum(_of_play(ansible_dir, play) for play in plays)
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError):
        return None


def _of_play(ansible_dir: Path, play: Mapping[str, Any]) -> int:
    own = sum(_of_list(play.get(place) or [], ansible_dir / "playbooks", 0) for place in _PLACES)
    names = [role if isinstance(role, str) else str(role["role"]) for role in play.get("roles") or []]
    return own + sum(_of_role(ansible_dir / "roles" / name) for name in names)


def _of_role(role: Path) -> int:
    """A role with specified arguments begins with a task that checks them."""
    checks = int((role / "meta" / "argument_specs.yml").is_file())
    main = role / "tasks" / "main.yml"
    return checks + (_of_list(_load(main), main.parent, 0) if main.is_file() else 0)


def _of_list(tasks: list[Mapping[str, Any]], folder: Path, depth: int) -> int:
    return sum(_of_task(task, folder, depth) for task in tasks)


def _of_task(task: Mapping[str, Any], folder: Path, depth: int) -> int:
    if "block" in task:
        return _of_list([*task["block"], *(task.get("always") or [])], folder, depth)
    for name in _INCLUDES:
        told = task.get(name, task.get(f"ansible.builtin.{name}"))
        if told is not None:
            own = 0 if name == "import_tasks" else 1
            return own + _of_file(folder / str(told["file"] if isinstance(told, Mapping) else told), depth)
    return 1


def _of_file(path: Path, depth: int) -> int:
    if depth >= DEEPEST or not path.is_file():
        return 0
    return _of_list(_load(path), path.parent, depth + 1)


def _load(path: Path) -> list[Mapping[str, Any]]:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or []
