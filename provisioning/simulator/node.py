"""What does one simulated node remember, and how is that changed without two tools stepping on each other?"""

# ruff: noqa: PTH100, PTH101, PTH103, PTH105, PTH112, PTH113, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123, PTH208
# Every stand-in tool imports this file, hundreds of times a minute: `os.path` spares each of them the import of pathlib.

from __future__ import annotations

import fcntl
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

STATE, LOCK = "state.json", ".lock"


class NotANode(ValueError):
    """The folder holds no simulated node."""


def read_state(node_dir: str | os.PathLike[str]) -> dict[str, Any]:
    """The node's state as of now. Readers need no lock: the file is replaced whole, never edited."""
    try:
        with open(os.path.join(node_dir, STATE), encoding="utf-8") as handle:
            state = json.load(handle)
    except FileNotFoundError as error:
        raise NotANode(f"{os.fspath(node_dir)} is no simulated node: it has no {STATE}") from error
    except ValueError as error:
        raise NotANode(f"{os.fspath(node_dir)}/{STATE} is damaged: {error}") from error
    if not isinstance(state, dict):
        raise NotANode(f"{os.fspath(node_dir)}/{STATE} is damaged: it is no object")
    return state


def write_state(node_dir: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Replace the state file in one step, so that a reader sees the old one or the new one."""
    temporary = os.path.join(node_dir, f".{STATE}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8") as handle:
        json.dump(state, handle, indent=1, sort_keys=True)
    os.replace(temporary, os.path.join(node_dir, STATE))


def update(node_dir: str | os.PathLike[str], change: Callable[[dict[str, Any]], T]) -> T:
    """Let `change` edit the state while nobody else can; what it raises leaves the state as it was."""
    with open(os.path.join(node_dir, LOCK), "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = read_state(node_dir)
        result = change(state)
        write_state(node_dir, state)
        return result


def neighbours(node_dir: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Name and folder of every node of the same fleet, this one included."""
    fleet = os.path.dirname(os.path.realpath(node_dir))
    return [
        (name, os.path.join(fleet, name))
        for name in sorted(os.listdir(fleet))
        if os.path.isfile(os.path.join(fleet, name, STATE))
    ]


def inside(node_dir: str | os.PathLike[str], path: str) -> str:
    """Where the node's absolute path lies on this machine; a path that already lies in the node is taken as it is."""
    root = os.path.join(os.path.realpath(node_dir), "root")
    given = os.path.normpath("/" + path.lstrip("/"))
    for prefix in (root, os.path.join(os.path.abspath(node_dir), "root")):
        if given == prefix or given.startswith(prefix + os.sep):
            given = given[len(prefix) :] or "/"
            break
    return root + (given if given != "/" else "")


def seen_from_inside(node_dir: str | os.PathLike[str], path: str) -> str:
    """The same place by the name that the node itself would use."""
    root = os.path.join(os.path.realpath(node_dir), "root")
    return inside(node_dir, path)[len(root) :] or "/"
