"""Who stops the portal's processes when their supervisor was killed?

A small process beside the supervisor, which holds the other end of this one's standard input: when that
ends while the state file still names the run, the supervisor died, and what it started is ended in order.
Run as `python -m portal.embedded.reaper VAR_DIR TOKEN`.
"""

import signal
import sys
from pathlib import Path

from portal.embedded import processes
from portal.embedded.state import Lock, State, clean_up

DYING_SECONDS = 60.0


def main(var_dir: Path, token: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    lock = Lock(var_dir)
    # A dying process closes its files one by one before it is dead: the pipe may end while the lock is
    # still held and the process still counts as alive. Wait for both, unless a new run is there already.
    processes.wait_until(lambda: not _is_of(var_dir, token) or _is_dead(var_dir), DYING_SECONDS)
    processes.wait_until(lambda: not _is_of(var_dir, token) or lock.try_take(), DYING_SECONDS)
    if lock.is_held and _is_of(var_dir, token) and _is_dead(var_dir):
        clean_up(var_dir)
    lock.release()


def _is_of(var_dir: Path, token: str) -> bool:
    """False when the run ended in order, or when a new supervisor is there and cleans up itself."""
    state = State.read(var_dir)
    return state is not None and state.token == token


def _is_dead(var_dir: Path) -> bool:
    state = State.read(var_dir)
    return state is not None and not state.supervisor.alive


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
