"""Which text do playbooks run from? From a copy of their own that nobody changes, named by the hash of what is in it.

An attempt reads its playbook, roles and modules over minutes or hours. The folder they come from changes meanwhile: a
new version of the portal is put in place, somebody edits a role. So each text is copied once, read-only, and every attempt that
runs this text uses the same copy. Nobody waits for anybody: whoever comes second throws its own copy away. A copy is
compared with its name before each use, since whoever owns a file can make it writable.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from portal.kernel.errors import Refused
from provisioning.jobs.playbooks import REGISTRY

logger = logging.getLogger(__name__)

READS_BESIDE = Path("provisioning/fleet/skus")
"""What roles read outside of their own folder, by the same way from there as in the repository."""
TRIES = 5
DAY = 24 * 3600
PENDING = "new-"
REMEMBERED = 8
Signature = tuple[tuple[str, int, int, int, int, int], ...]
_known: dict[Signature, str] = {}


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """One text. `folder` is the ansible folder in the copy, `hash` names all that was copied."""

    hash: str
    folder: Path

    @classmethod
    def in_(cls, copy: Path, name: str) -> Checkout:
        """The one whose copy lies in `copy`."""
        return cls(hash=name, folder=copy / "ansible")

    def playbook(self, file: str) -> Path:
        """The playbook called `file`. Refused when it is missing."""
        found = self.folder / "playbooks" / file
        if not found.is_file():
            raise Refused(f"The playbook {file} is missing.", code="no-such-playbook")
        return found


def current() -> Checkout:
    """The text as it is now. Refused when it does not hold still long enough to be copied, OSError when nothing can be copied."""
    for _ in range(TRIES):
        name = hash_of(_sources())
        for number in range(TRIES):  # a copy that was tampered with is left to the jobs that run from it
            copy = _home() / (f"{name}-{number}" if number else name)
            if not copy.exists() and not _make(copy, name):
                break  # it was changed while it was copied
            if _is_whole(copy, name):
                os.utime(copy)
                return Checkout.in_(copy, name)
            logger.error("the copy of the playbooks in %s is not what it was; another one is made", copy)
    raise Refused("The playbooks change while they are being read; try again.", code="playbooks-change")


def remove_old() -> None:
    """Remove copies that no attempt can be using any more, and what a worker that died left half made."""
    longest = max(book.timeout for book in REGISTRY.values()).total_seconds() + DAY
    home = _home()
    for copy in home.iterdir() if home.is_dir() else ():
        try:
            age = time.time() - copy.stat().st_mtime
        except OSError:
            continue
        if age > (DAY if copy.name.startswith(PENDING) else longest):
            shutil.rmtree(copy, ignore_errors=True)


def hash_of(sources: dict[str, Path]) -> str:
    """One hash of every file below `sources`, named by where it lies in a copy: the same text, the same hash."""
    while True:
        seen = _signature(sources)
        if seen in _known:
            return _known[seen]
        found = _hash(sources)
        if _signature(sources) == seen:
            while len(_known) >= REMEMBERED:
                _known.pop(next(iter(_known)), None)
            _known[seen] = found


def _sources() -> dict[str, Path]:
    return {"ansible": Path(settings.ANSIBLE_DIR), str(READS_BESIDE): settings.BASE_DIR / READS_BESIDE}


def _home() -> Path:
    return Path(settings.CHECKOUTS_DIR)


def _is_whole(copy: Path, name: str) -> bool:
    return hash_of({place: copy / place for place in _sources()}) == name


def _make(copy: Path, name: str) -> bool:
    """Copy the text to `copy`; False when what was copied is not `name`. Somebody else's copy is as good."""
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=PENDING, dir=copy.parent))
    try:
        for place, source in _sources().items():
            _copy(source, fresh / place)
        if not _is_whole(fresh, name):
            return False
        fresh.rename(copy)
    except OSError:
        if not copy.exists():
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return True


def _copy(source: Path, to: Path) -> None:
    to.mkdir(parents=True)
    for name, file in _files(source):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to / name)
        (to / name).chmod(0o500 if _may_run(file.stat()) else 0o400)


def _files(folder: Path, above: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file below `folder` by its name from there, in order; what Python compiles for itself is none of the text."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if not entry.is_dir():
            yield above + entry.name, entry
        elif entry.name != "__pycache__":
            yield from _files(Path(entry.path), f"{above}{entry.name}/")


def _may_run(told: os.stat_result) -> bool:
    return bool(told.st_mode & stat.S_IXUSR)


def _signature(sources: dict[str, Path]) -> Signature:
    """What tells that a file was touched, without reading it: whoever writes to it can't keep its ctime."""
    found = []
    for place, source in sources.items():
        for name, file in _files(source):
            told = file.stat()
            touched = (told.st_mtime_ns, told.st_ctime_ns)
            found.append((f"{place}/{name}", told.st_size, *touched, told.st_ino, told.st_mode))
    return tuple(found)


def _hash(sources: dict[str, Path]) -> str:
    whole = hashlib.sha256()
    for place, source in sources.items():
        for name, file in _files(source):
            mark = "x" if _may_run(file.stat()) else "-"
            whole.update(f"{place}/{name}\0{mark}\0".encode())
            whole.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return whole.hexdigest()
