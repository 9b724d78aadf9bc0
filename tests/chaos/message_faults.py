"""What goes wrong with messages? They come twice, late, in another order, for jobs that have long ended, or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from provisioning.jobs import tasks
from provisioning.jobs.models import Job
from tests.chaos.evidence import Fault
from tests.chaos.faults import Chaos, Deed
from tests.chaos.playbook import ROOT

FILE = "messages.jsonl"
NEWEST = 8


def post(deed: str) -> Deed:
    """A fault that puts somebody at the broker's queues, who handles for some seconds what comes (postman.py)."""

    def begin(chaos: Chaos, name: str) -> Fault | None:
        if chaos.stage.postmen:
            return None  # two of them would handle each other's
        seconds, fault = chaos.dice.uniform(3, 8), Fault(name, everybody=True)
        words = ["-m", "tests.chaos.postman", deed, str(seconds), str(chaos.stage.home / FILE)]
        postman = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        chaos.stage.postmen.append(postman)
        chaos.stage.soon(seconds, fault.over)
        return fault

    return begin


def handled(file: Path) -> Counter[str]:
    """How many messages the postmen of a campaign handled, by what they did to them."""
    found: Counter[str] = Counter()
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            found[told["deed"]] += told["messages"]
    return found


def ring_often(chaos: Chaos, name: str) -> Fault | None:
    """The newest jobs, those that have ended too, each twice and in any order."""
    jobs = list(Job.objects.order_by("-pk")[:NEWEST]) * 2
    if not jobs:
        return None
    chaos.dice.shuffle(jobs)
    fault = Fault(name)
    for job in jobs:
        tasks.run.apply_async((job.ref,), queue=job.queue, retry=False, ignore_result=True)
    fault.over()
    return fault
