"""Where does an attempt keep its files? A fresh folder of its own, closed to others and gone afterwards.

Nothing is ever reused: the runner mixes what it finds from an earlier run into the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioning.jobs.child import LOCK, ORDERS
from provisioning.jobs.inert import as_data

CONTROL_PATH_ROOM = 76
"""Bytes a folder of ssh's control sockets may have: 104 on macOS, less the hash and ssh's own temporary ending."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory; folders in it are 0700
_MARK = re.compile(r"[jq]([1-9][0-9]*)-([1-9][0-9]*)-[0-9a-f]{8}")


def new_mark(job_id: int, attempt: int, *, kind: str = "j") -> str:
    """What names an attempt: in its folder's name and in the environment of its processes. `q`: a look at nodes."""
    return f"{kind}{job_id}-{attempt}-{secrets.token_hex(4)}"


def attempt_of(mark: str) -> tuple[int, int] | None:
    """The job and the attempt that a mark names, None for what is no mark."""
    found = _MARK.fullmatch(mark)
    return None if found is None or mark.startswith("q") else (int(found[1]), int(found[2]))


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The folder of one attempt."""

    folder: Path
    control_dir: Path

    @property
    def spool(self) -> Path:
        return self.folder / "events.spool"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def orders(self) -> Path:
        """The pipe by which its worker speaks to the child."""
        return self.folder / ORDERS

    @property
    def lock(self) -> Path:
        """Held by the child as long as it lives."""
        return self.folder / LOCK

    @property
    def log(self) -> Path:
        """What the child itself had to say; empty when all went well."""
        return self.folder / "child.log"

    @property
    def project_dir(self) -> Path:
        """The folder of the playbooks that the child was told to use."""
        return Path(json.loads((self.folder / "spec.json").read_text(encoding="utf-8"))["project_dir"])

    @property
    def tmp(self) -> Path:
        """Where the playbook keeps temporary files: beside the credentials when there are any, they may hold some."""
        kept = self.secrets / "tmp"
        return kept if kept.is_dir() else self.folder / "tmp"

    @property
    def bin(self) -> Path:
        """Programs that stand before those of the machine, when there are any."""
        return self.folder / "bin"

    @property
    def secrets(self) -> Path:
        """Where credentials lie: in memory where the machine has such a place, else in the folder."""
        short = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return MEMORY / f"qms-{short}" if os.access(MEMORY, os.W_OK | os.X_OK) else self.folder / "secrets"

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.secrets, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.control_dir.parent != self.folder:
            shutil.rmtree(self.control_dir, ignore_errors=True)


def create(jobs_dir: Path, mark: str, *, owner: str) -> Workspace:
    """Make the folder; `owner` says whose it is to a later sweep."""
    jobs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = jobs_dir / mark
    folder.mkdir(mode=0o700)
    space = at(folder)
    try:
        write_private(folder / "owner", owner)
        for name in ("runner", "home", "tmp"):
            (folder / name).mkdir(mode=0o700)
        os.mkfifo(space.orders, 0o600)
        space.control_dir.mkdir(mode=0o700)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # half a folder has no owner, and no sweep would take it
        raise
    return space


def at(folder: Path) -> Workspace:
    """The workspace in a folder; ssh's sockets lie elsewhere when its path is too long for them."""
    control = folder / "c"
    if len(os.fsencode(control)) > CONTROL_PATH_ROOM:
        short = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        control = Path("/tmp") / f"qmc-{short}"  # noqa: S108 - 0700, and an attempt fails when it is there already
    return Workspace(folder=folder, control_dir=control)


def is_alive(space: Workspace) -> bool:
    """True while the child of that folder lives: it holds the lock, and the kernel lets go of it however that ends."""
    try:
        descriptor = os.open(space.lock, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def fill(
    space: Workspace,
    *,
    inventory: Mapping[str, Any],
    variables: Mapping[str, Any],
    known_hosts: Iterable[str],
    spec: Mapping[str, Any],
) -> str:
    """Write what the child reads; returns the inventory's hash. Every text of `variables` goes as data."""
    hosts = json.dumps(inventory, indent=1)
    write_private(space.folder / "inventory.json", hosts)
    write_private(space.folder / "vars.json", json.dumps(as_data(dict(variables))))
    write_private(space.known_hosts, "".join(f"{line}\n" for line in known_hosts))
    write_private(space.folder / "spec.json", json.dumps(dict(spec)))
    return hashlib.sha256(hosts.encode()).hexdigest()


def write_private(path: Path, text: str) -> None:
    """A new file that only its owner may read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def leftovers(jobs_dir: Path, *, owner: str) -> list[Path]:
    """Folders of attempts that belong to `owner`."""
    if not jobs_dir.is_dir():
        return []
    return [folder for folder in jobs_dir.iterdir() if _MARK.fullmatch(folder.name) and _owned(folder, owner)]


def _owned(folder: Path, owner: str) -> bool:
    try:
        return (folder / "owner").read_text(encoding="utf-8") == owner
    except OSError:
        return False


def environment(
    space: Workspace, *, mark: str, path: str, ansible_dir: Path, mark_name: str
) -> dict[str, str]:
    """Everything the child's world knows. The worker's own environment holds secrets and never comes along."""
    home = str(space.folder / "home")
    return {
        mark_name: mark,
        "PATH": path,
        "HOME": home,
        "TMPDIR": str(space.tmp),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "PYTHONUNBUFFERED": "1",
        "ANSIBLE_CONFIG": str(ansible_dir / "ansible.cfg"),
        "ANSIBLE_HOME": home,
        "ANSIBLE_LOCAL_TEMP": str(space.tmp),
        "ANSIBLE_COLLECTIONS_PATH": f"{home}/collections",
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_VERBOSITY": "0",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(space.control_dir),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_INVENTORY_ENABLED": "yaml",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True",
        "ANSIBLE_FORCE_COLOR": "True",
        "MAX_EVENT_RES": "16000000",  # the runner's own limit empties a larger result without a word
    }
