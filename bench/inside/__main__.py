"""Which part of `bench/jobs.py` runs in this process? The last line that it prints is JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from bench.inside import events, runs, stage

PARTS: dict[str, Callable[..., Any]] = {
    "prepare": stage.prepare,
    "store": events.store,
    "memory": events.memory,
    "large": events.large,
    "queued": events.queued,
    "many": events.many,
    "run": runs.run,
    "trips": runs.trips,
    "ssh": runs.ssh,
}

if __name__ == "__main__":
    os.umask(0o077)
    part, *told = sys.argv[1:]
    print(json.dumps(PARTS[part](*told)))
