#!/usr/bin/python
"""Does anything of a stopped attempt still run on this node? It is ended, and then looked for again.

Everything an attempt starts has its mark in the environment, whatever account it became and however it was sent; a shell that has not
yet set it has it in its words. Both are read from /proc. Quiet means that two looks, a moment apart, found nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from ansible.module_utils.basic import AnsibleModule

MARK = "QM_ATTEMPT"
PROC = "/proc"
LOOK_EVERY, TERM_SECONDS, KILL_SECONDS, BETWEEN_LOOKS = 0.1, 4.0, 3.0, 0.7
MOST_NAMED = 10


class Attempt(object):
    """The processes that carry a mark, but never the ones that are looking."""

    def __init__(self, mark, node_dir):
        self.words = ("%s=%s" % (MARK, mark)).encode()
        self.place = ("QM_NODE_DIR=%s" % node_dir).encode() if node_dir else b""
        self.looking = ancestors(os.getpid())
        self.hidden = 0

    def pids(self):
        """What runs now. A zombie has neither words nor environment, so it doesn't count."""
        self.hidden = 0
        return [int(name) for name in os.listdir(PROC) if name.isdigit() and self.has(int(name))]

    def has(self, pid):
        if pid in self.looking:
            return False
        try:
            around = read(pid, "environ").split(b"\0")
        except PermissionError:
            self.hidden += 1
            around = []
        except OSError:
            return False
        if self.place and self.place not in around:
            return False  # another simulated node of this machine
        try:
            return self.words in around or self.words in read(pid, "cmdline")
        except OSError:
            return False

    def send(self, number):
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def is_gone(self, seconds):
        deadline = time.monotonic() + seconds
        while self.pids():
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_EVERY)
        return True


def read(pid, name):
    with open("%s/%d/%s" % (PROC, pid, name), "rb") as handle:
        return handle.read()


def ancestors(pid):
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            pid = int(read(pid, "stat").rsplit(b")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            break
    return found


def name_of(pid):
    """The program only: its words may hold secrets."""
    try:
        return read(pid, "comm").decode("utf-8", "replace").strip()
    except OSError:
        return "?"


def end(attempt):
    """TERM, then KILL, then a second look: what a shell was about to start is found by that."""
    for _ in range(3):
        attempt.send(signal.SIGTERM)
        if not attempt.is_gone(TERM_SECONDS):
            attempt.send(signal.SIGKILL)
            attempt.is_gone(KILL_SECONDS)
        time.sleep(BETWEEN_LOOKS)
        if not attempt.pids():
            break


def main():
    module = AnsibleModule(
        argument_spec={
            "mark": {"type": "str", "required": True},
            "node_root": {"type": "str", "default": ""},
            "simulated": {"type": "bool", "default": False},
        }
    )
    around = dict(os.environ)  # noqa: TID251 - runs on the node, where there is no portal
    simulated = module.params[
        "simulated"
    ]  # it shares its machine with others, whose processes are not its own
    attempt = Attempt(module.params["mark"], around.get("QM_NODE_DIR") if module.params["node_root"] else "")
    found = len(attempt.pids())
    end(attempt)
    left = attempt.pids()
    hidden = 0 if simulated or os.geteuid() == 0 else attempt.hidden
    module.exit_json(
        changed=found > 0,
        quiet=not left and not hidden,
        found=found,
        hidden=hidden,
        left=[name_of(pid) for pid in left[:MOST_NAMED]],
        left_count=len(left),
    )


if __name__ == "__main__":
    main()
