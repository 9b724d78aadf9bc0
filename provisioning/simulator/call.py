"""What does a stand-in tool get to work with: its arguments, the node's state, and two places to print to?"""

# ruff: noqa: PTH100, PTH101, PTH103, PTH105, PTH112, PTH113, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123, PTH208
# Imported by every stand-in call; see node.py.

from __future__ import annotations

import os

from provisioning.simulator import figures, node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")


class Call:
    """One call of one tool on one node; output is collected and written once, when the tool has ended."""

    def __init__(self, name: str, argv: list[str], node_dir: str, state: dict[str, Any]) -> None:
        self.name, self.argv, self.node_dir, self.state = name, argv, node_dir, state
        self.stdout: list[str] = []
        self.stderr: list[str] = []

    def out(self, text: str) -> None:
        self.stdout.append(text)

    def err(self, text: str) -> None:
        self.stderr.append(text)

    def fail(self, code: int, text: str) -> int:
        """Complain and name the exit code: `return call.fail(1, ...)`."""
        self.err(text if text.endswith("\n") else text + "\n")
        return code

    def update(self, change: Callable[[dict[str, Any]], T]) -> T:
        """Change the node's state under its lock; `self.state` is what came of it."""

        def keep(state: dict[str, Any]) -> T:
            self.state = state
            return change(state)

        return node.update(self.node_dir, keep)

    def run_number(self, metric: str) -> int:
        """Count this run of a benchmark, so that repeats differ a little and always in the same way."""
        return self.update(lambda state: figures.count_run(state, metric))

    def path(self, name: str) -> str:
        """Where one of the node's own files lies."""
        return node.inside(self.node_dir, name)

    def read(self, name: str) -> str:
        try:
            with open(self.path(name), encoding="utf-8", errors="surrogateescape") as handle:
                return handle.read()
        except FileNotFoundError:
            return ""

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Replace one of the node's files in one step."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)

    def is_dir(self, name: str) -> bool:
        """Whether the node has a real folder of this name (a link does not count)."""
        return os.path.isdir(self.path(name)) and not os.path.islink(self.path(name))

    def is_file(self, name: str) -> bool:
        return os.path.isfile(self.path(name))

    def files_in(self, name: str) -> list[str]:
        """The names in one of the node's folders."""
        return sorted(os.listdir(self.path(name))) if self.is_dir(name) else []

    def make_folder(self, name: str, mode: int) -> None:
        os.makedirs(self.path(name), mode=mode, exist_ok=True)

    def fault(self, name: str) -> dict[str, Any] | None:
        """The parameters of a fault in force, or None."""
        entry = self.state["faults"].get(name)
        return None if entry is None else entry["params"]

    def neighbour(self, name: str) -> str | None:
        """The folder of another node of the same fleet, by host name or by address."""
        fleet = node.neighbours(self.node_dir)
        if name in dict(fleet):
            return dict(fleet)[name]
        return next((folder for _, folder in fleet if node.read_state(folder)["address"] == name), None)


def options(argv: list[str], with_value: str | tuple[str, ...] = ()) -> tuple[dict[str, str], list[str]]:
    """Split arguments into options and the rest. `--a=b` and `-a b` (for those `with_value`) carry a value, others are "".

    Single letters may be bundled (`-xvf`); a value may be glued to its letter (`-np16` is not such a letter, `-uroot` is).
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    queue = list(argv)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += queue
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
        elif "=" in word and word.startswith("--"):
            key, found[key] = word.split("=", 1)[0], word.split("=", 1)[1]
        elif word in with_value:
            found[word] = queue.pop(0) if queue else ""
        elif word[:2] in with_value and not word.startswith("--"):
            found[word[:2]] = word[2:]
        elif word.startswith("--"):
            found[word] = ""
        else:
            found.update({f"-{letter}": "" for letter in word[1:]})
    return found, rest
