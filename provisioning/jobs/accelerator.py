"""May an attempt run through Mitogen, and if not, why? Optional: it is taken where it is wanted, there, accepted and fit.

Mitogen keeps one interpreter on each node for the whole playbook instead of starting one for every task. ansible-core
has announced that it will refuse what Mitogen builds on, so every version is asked before it is relied upon.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

STRATEGY = "mitogen_linear"
LONGEST_SOCKET = 107
"""Bytes the path of a socket may have; Mitogen puts one into the attempt's folder for temporary files."""
_SOCKET = "/mitogen_unix_00000000.sock"
_TRIED_FOR = 60.0
_TRY = """
import sys
from ansible.plugins.loader import strategy_loader
strategy_loader.add_directory(sys.argv[1])
if strategy_loader.get(sys.argv[2], class_only=True) is None:
    sys.exit("it does not find the strategy " + sys.argv[2])
"""


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """What an attempt gets. `says`: the version that runs it, or why it runs without; empty where nobody wants one."""

    says: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def choose(
    *, connections: Collection[str], strangers: Collection[str], folders: Iterable[Path]
) -> Accelerator:
    """What an attempt that wants it gets, over nodes with these `connections` gets; `strangers` are those that never showed a host key.

    Mitogen accepts no new host key, so a node's first job runs without and learns it. Of `folders` the first that is
    short enough for its sockets is taken for them.
    """
    if set(connections) != {"ssh"}:
        return _without("not every node is behind SSH")
    if strangers:
        first = min(strangers)
        return _without(f"{first} has not shown its host key yet, and this job learns it")
    tmp = next((path for path in folders if len(os.fsencode(path)) + len(_SOCKET) <= LONGEST_SOCKET), None)
    if tmp is None:
        return _without("the path of the var folder is too long for its sockets")
    folder, why_not = found()
    if folder is None:
        return _without(why_not)
    return Accelerator(
        says=metadata.version("mitogen"),
        variables={
            "ANSIBLE_STRATEGY": STRATEGY,
            "ANSIBLE_STRATEGY_PLUGINS": str(folder),
            "TMPDIR": str(tmp),
        },
    )


def _without(why: str) -> Accelerator:
    return Accelerator(says=f"not used: {why}")


@cache
def found() -> tuple[Path | None, str]:
    """Where Mitogen's strategies lie, or None and why it can't be used here. Asked once a process."""
    spec = importlib.util.find_spec("ansible_mitogen")
    if spec is None or not spec.submodule_search_locations:
        return None, "Mitogen is not installed"
    folder = Path(next(iter(spec.submodule_search_locations))) / "plugins" / "strategy"
    refused = _refusal(folder)
    if refused:
        return None, f"ansible-core {metadata.version('ansible-core')} refuses it: {refused}"
    return folder, ""


def _refusal(folder: Path) -> str:
    """What ansible-core says against it; "" when it takes it. Tried in a process of its own: it changes ansible for good."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.defpath, "HOME": home, "ANSIBLE_HOME": home, "ANSIBLE_LOCAL_TEMP": home}
        settings = Path(home) / "ansible.cfg"  # an empty one: what the machine is set to is not what a job is
        settings.touch()
        env |= {"LC_ALL": "C.UTF-8", "ANSIBLE_CONFIG": str(settings)}
        words = [sys.executable, "-c", _TRY, str(folder), STRATEGY]
        try:
            tried = subprocess.run(
                words, env=env, capture_output=True, text=True, check=False, timeout=_TRIED_FOR
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return str(problem)[:200]
    if tried.returncode == 0:
        return ""
    said = tried.stderr.strip().splitlines()
    return said[-1][:200] if said else f"it ended with {tried.returncode}"
