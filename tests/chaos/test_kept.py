"""A process of the campaign is killed, frozen and told to go with all that belongs to it, and comes back when it is due."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil  # type: ignore[import-untyped]
import pytest

from portal.embedded import processes
from tests.chaos.kept import Kept

PATIENCE = 60
CHILD = "import subprocess, sys, time; subprocess.Popen(['sleep', '600'], start_new_session=bool({})); print('up', flush=True); time.sleep(600)"


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    """A process with one child, in its group or in one of its own."""
    made: list[Kept] = []

    def start(*, scattered: bool) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", CHILD.format(int(scattered))]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        return process

    def make(*, scattered: bool = False) -> Kept:
        made.append(Kept("one", lambda: start(scattered=scattered), scattered=scattered))
        made[-1].begin()
        return made[-1]

    yield make
    for each in made:
        each.end(signal.SIGKILL, PATIENCE)


def family(kept: Kept) -> list[psutil.Process]:
    first = psutil.Process(kept.pid)
    return [first, *first.children(recursive=True)]


def become(some: list[psutil.Process], *states: str) -> bool:
    def state(process: psutil.Process) -> str:
        try:
            return str(process.status())
        except psutil.NoSuchProcess:
            return "gone"

    return processes.wait_until(lambda: all(state(each) in states for each in some), PATIENCE)


@pytest.mark.parametrize("scattered", [False, True])
def test_killed_with_all_its_processes_and_back_when_it_is_due(
    keep: Callable[..., Kept], scattered: bool
) -> None:
    kept = keep(scattered=scattered)
    before = family(kept)
    assert len(before) == 2
    kept.kill(away=3600)
    assert become(before, "gone", psutil.STATUS_ZOMBIE)
    assert processes.wait_until(lambda: not kept.lives, PATIENCE)
    kept.mend()
    assert not kept.lives, "it is not due"
    kept.mend(now=True)
    assert kept.is_awake
    assert kept.pid != before[0].pid


@pytest.mark.parametrize("scattered", [False, True])
def test_frozen_with_all_its_processes_until_it_is_thawed(keep: Callable[..., Kept], scattered: bool) -> None:
    kept = keep(scattered=scattered)
    kept.freeze(3600)
    assert become(family(kept), psutil.STATUS_STOPPED)
    assert not kept.is_awake
    kept.mend()
    assert psutil.Process(kept.pid).status() == psutil.STATUS_STOPPED, "it is not due"
    kept.frozen_until = time.monotonic() - 1
    kept.mend()
    assert become(family(kept), psutil.STATUS_SLEEPING)
    assert kept.is_awake


def test_told_to_go_is_the_first_process_alone(keep: Callable[..., Kept]) -> None:
    kept = keep()
    first, child = family(kept)
    kept.kill(number=signal.SIGTERM, away=3600)
    assert processes.wait_until(lambda: not kept.lives, PATIENCE)
    assert child.is_running()
    child.kill()
    assert not first.is_running()


def test_frozen_one_is_killed_all_the_same(keep: Callable[..., Kept]) -> None:
    kept = keep()
    kept.freeze(3600)
    kept.kill(away=3600)
    assert processes.wait_until(lambda: not kept.lives, PATIENCE)
