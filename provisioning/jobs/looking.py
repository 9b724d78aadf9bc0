"""Is a draining node quiet? One short playbook asks all that are due, ends what it finds there, and each answer is written at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings

from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from provisioning.credentials.handing import hand_over
from provisioning.jobs import checkout, draining, workspace
from provisioning.jobs.checkout import Checkout
from provisioning.jobs.child_process import ChildProcess
from provisioning.jobs.endings import say_failure
from provisioning.jobs.inventory import inventory
from provisioning.jobs.models import NodeLease
from provisioning.jobs.preparation import known_hosts_of, owner, ssh_access, target
from provisioning.jobs.runner_events import RunnerEvent, read_event
from provisioning.jobs.spool import SpoolReader

logger = logging.getLogger(__name__)

PLAYBOOK = Path("upkeep") / "prove_quiet.yml"
LOOK_LIMIT = 75.0
"""Seconds for all of them: a node that is away costs ten, one that froze thirty, and the module ends what it finds in thirty."""
LOOK_EVERY = 0.1
SAY_EVERY = 2.5
STOP_GRACE = 2.0


class NoAnswer(Exception):
    """The look took longer than LOOK_LIMIT and was ended: the nodes that had not answered kept it waiting."""


def prove_quiet(*, site: str = "") -> int:
    """Look at every node of a site that is due, and free those that are quiet; how many that were."""
    leases = {lease.node.name: lease for lease in draining.take_looks(site)}
    if not leases:
        return 0
    freed = 0
    waiting = dict(leases)
    try:
        for name, event in _answers(leases, lambda: draining.still_looking(waiting.values())):
            lease = waiting.pop(name, None)
            if lease is not None:
                freed += _take(lease, event)
        said, put_off = "the look at it was lost", draining.could_not_look
    except NoAnswer:
        said, put_off = "it gave no answer in time", draining.found_busy
    except (OSError, ValueError, PortalError) as problem:
        logger.warning("draining nodes can't be looked at: %s", problem)
        said, put_off = f"nobody could look: {problem}", draining.could_not_look
    for lease in waiting.values():
        put_off(lease, said)
    return freed


def _take(lease: NodeLease, event: RunnerEvent) -> bool:
    if event.kind == "ok" and event.result.get("quiet") is True:
        return draining.found_quiet(lease, ended=int(event.result.get("found") or 0))
    draining.found_busy(lease, say_answer(event))
    return False


def say_answer(event: RunnerEvent) -> str:
    """What keeps a node draining, for people."""
    if event.kind == "unreachable":
        return f"it can't be reached: {_first_line(say_failure(event))}"
    if event.kind != "ok":
        return f"the look at it failed: {_first_line(say_failure(event))}"
    if event.result.get("hidden"):
        return (
            f"{event.result['hidden']} processes of other accounts can't be looked at without becoming root"
        )
    count = int(event.result.get("left_count") or 0)
    names = ", ".join(sorted({str(name) for name in event.result.get("left") or []}))
    return f"{count} process{'es' if count != 1 else ''} can't be ended: {names}"


def _first_line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return first.removeprefix("Task failed: ")[:200]


def _answers(
    leases: Mapping[str, NodeLease], say_so: Callable[[], None]
) -> Iterator[tuple[str, RunnerEvent]]:
    """Run the playbook on the nodes and tell each result as it comes; `say_so` tells others that somebody looks.

    NoAnswer when it had to be ended; a node without a result when it ended by itself was never looked at.
    """
    first = next(iter(leases.values()))
    mark = workspace.new_mark(first.pk, first.probes, kind="q")
    with ExitStack() as stack:
        space = workspace.create(Path(settings.JOBS_DIR), mark, owner=owner())
        stack.callback(space.remove)
        nodes = [lease.node for lease in leases.values()]
        targets = [target(lease.node, quiet_mark=lease.mark) for lease in leases.values()]
        handed = hand_over(space, playbook="", nodes=[node.pk for node in nodes])
        workspace.fill(
            space,
            inventory=inventory(targets, ssh=ssh_access(space, handed)),
            variables={},
            known_hosts=known_hosts_of(nodes),
            spec={**_spec(checkout.current(), mark, len(nodes)), **handed.spec},
        )
        say_so()
        child = stack.enter_context(ChildProcess.started(space, mark=mark, sees_all=True))
        child.go()
        spool = SpoolReader(space.spool)
        stack.callback(spool.close)
        yield from _results(child, spool, say_so)


def _results(
    child: ChildProcess, spool: SpoolReader, say_so: Callable[[], None]
) -> Iterator[tuple[str, RunnerEvent]]:
    deadline = time.monotonic() + LOOK_LIMIT
    said = float("-inf")
    while True:
        if time.monotonic() - said > SAY_EVERY:
            said = time.monotonic()
            say_so()
        ended = child.ended
        for raw in spool.new_events():
            event = read_event(raw, default_at=now())
            if event.kind in {"ok", "failed", "unreachable"}:
                yield event.host, event
        if ended:
            return
        if time.monotonic() > deadline:
            raise NoAnswer
        child.wait(LOOK_EVERY)


def _spec(text: Checkout, mark: str, nodes: int) -> dict[str, Any]:
    return {
        "mark": mark,
        "playbook": str(text.folder / PLAYBOOK),
        "project_dir": str(text.folder),
        "forks": min(nodes, draining.AT_ONCE),
        "grace_seconds": STOP_GRACE,
        "silence_seconds": LOOK_LIMIT + 10,
    }
