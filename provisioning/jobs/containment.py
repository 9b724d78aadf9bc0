"""What holds the processes of an attempt together, so that all of them can be ended at once?

Since ansible-core 2.19 every fork of ansible-playbook has a session of its own: killing a process group leaves them.
A pid namespace holds them all, whatever they do; the kernel ends what is in it with its first process. Where there is
none, everything carries the attempt's mark in its environment and is found by that.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache

from portal.embedded import processes
from provisioning.jobs.child import MARK

_NAMESPACE = ("--pid", "--fork", "--kill-child", "--mount-proc")
_TRIED_WITH = ("sh", "-c", 'test "$$" = 1 && test "$(readlink /proc/self)" != ""')


@cache
def prefix() -> tuple[str, ...]:
    """Words before a command that put it into a pid namespace of its own; empty where the kernel refuses one."""
    if sys.platform != "linux":
        return ()
    for words in (("unshare", *_NAMESPACE), ("unshare", "--user", "--map-current-user", *_NAMESPACE)):
        try:
            tried = subprocess.run([*words, "--", *_TRIED_WITH], capture_output=True, check=False, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if tried.returncode == 0:
            return (*words, "--")
    return ()


def describe() -> str:
    """For people: how jobs are contained on this machine."""
    if not prefix():
        return "a mark in the environment of every process"
    return (
        "a pid namespace per attempt, in a user namespace"
        if "--user" in prefix()
        else "a pid namespace per attempt"
    )


def kill_leftovers(mark: str, *, seconds: float = 5.0) -> bool:
    """End by force what still carries `mark` on this machine; False when something survived."""

    def none_left() -> bool:
        left = processes.marked(MARK, mark)
        for process in left:
            processes.send(process, signal.SIGKILL, group=False)
        return not left

    return processes.wait_until(none_left, seconds)
