"""Which tools does a node have on its PATH, and how does a call find its stand-in?

A node's PATH is two folders: its own `bin/` with one link per stand-in, all to the same small launcher, and the fleet's `.tools/`
with links to the few harmless tools of this machine that Ansible's shell commands need. Nothing else: a tool that has no stand-in
is *not found*, it never falls through to the real one and never acts on the machine that runs the portal.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from pathlib import Path

from provisioning.simulator.tools import TOOLS

LAUNCHER = ".launch"
HARMLESS_FOLDER = ".tools"
SUDO = "sudo"
DISPATCHER = Path(__file__).resolve().parent / "standin.py"

# Text and file tools only: none of them knows about devices, accounts, services, packages or mounts.
HARMLESS = (
    "[",
    "awk",
    "base64",
    "basename",
    "bash",
    "cat",
    "chmod",
    "chown",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "diff",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "find",
    "flock",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "install",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nohup",
    "od",
    "printf",
    "pwd",
    "python3",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "setsid",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "split",
    "stat",
    "sync",
    "tail",
    "tar",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "uniq",
    "wc",
    "which",
    "xargs",
    "yes",
    "zcat",
)


def install(node_dir: Path, *, without: str | None = None) -> None:
    """Make `bin/` hold exactly the stand-ins the node has; `without` names one that is not installed."""
    folder = node_dir / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / LAUNCHER, _launcher())
    _write(folder / SUDO, SUDO_SCRIPT)
    _link(folder, {name: LAUNCHER for name in TOOLS if name != without})


def install_harmless(fleet: Path) -> None:
    """Make `.tools/` hold what every node may use of this machine."""
    folder = fleet / HARMLESS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: shutil.which(name, path="/usr/bin:/bin:/usr/local/bin") for name in HARMLESS}
    _link(folder, {name: path for name, path in found.items() if path is not None})


def search_path(node_dir: Path) -> str:
    """The PATH of everything that runs on the node."""
    return os.pathsep.join([str(node_dir / "bin"), str(node_dir.parent / HARMLESS_FOLDER)])


def _link(folder: Path, wanted: dict[str, str]) -> None:
    have = {entry.name: str(entry.readlink()) for entry in folder.iterdir() if entry.is_symlink()}
    for name, target in have.items():
        if wanted.get(name) != target:
            (folder / name).unlink(missing_ok=True)
    for name, target in wanted.items():
        if have.get(name) != target:
            with contextlib.suppress(FileExistsError):  # somebody else was faster, with the same link
                (folder / name).symlink_to(target)


def _launcher() -> str:
    """Isolated and without site packages: a stand-in must start in a few hundredths of a second."""
    python = shlex.quote(os.path.realpath(sys.executable))
    return f'#!/bin/sh\nexec {python} -I -S {shlex.quote(str(DISPATCHER))} "$0" "$@"\n'


# Becoming root on a simulated node changes nothing: its files belong to whoever runs it. The command after the options runs as is.
SUDO_SCRIPT = """\
#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -u|-g|-p|-C|-r|-t|-h|-D|-R|-T|-U) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || exit 0
exec "$@"
"""


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(0o755)
    temporary.replace(path)
