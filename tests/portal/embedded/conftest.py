"""What the tests of the servers of one machine share."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.embedded import processes

Track = Callable[[subprocess.Popen[bytes]], subprocess.Popen[bytes]]


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A folder whose path leaves room for a socket, which pytest's own may not."""
    folder = Path(tempfile.mkdtemp(prefix="qm-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def track() -> Iterator[Track]:
    """Ends the given processes after the test, whatever became of it."""
    tracked: list[subprocess.Popen[bytes]] = []

    def keep(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        tracked.append(process)
        return process

    yield keep
    for process in tracked:
        if process.poll() is None:
            found = processes.identify(process.pid)
            if found is not None:
                processes.end(found, [processes.KILL], gone=lambda one=process: one.poll() is not None)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
