"""How did it end on each node, and so for the job? Folded from task events; exit codes are not asked.

ansible-playbook returns 0 when no host matched and 4 for five different things, so a verdict comes only from what was
said of each node, compared with the nodes the job was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from provisioning.jobs.failure_policy import PER_NODE, FailurePolicy, Outcome
from provisioning.jobs.runner_events import RESULTS, RunnerEvent
from provisioning.jobs.states import FINAL_ENDINGS, Ending, JobAction, Reason

LONGEST_FAILURE = 4000
_SAID_OF_A_HOST = RESULTS | {"begin"}
KEY_CHANGED = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_NEVER_THERE = re.compile(
    r"ssh: connect to host |ssh: Could not resolve hostname |kex_exchange_identification: |during banner exchange"
    r"|Unable to negotiate with |Host key verification failed|Permission denied \(|Too many authentication failures"
)
"""What OpenSSH's client says, and only then, when it gives up before it has a session on the node."""


@dataclass
class HostFold:
    """One node so far."""

    ending: Ending = Ending.WAITING
    tasks_done: int = 0
    changed: int = 0
    last_task: str = ""
    last_event_at: datetime | None = None
    first_failure: str = ""
    failed_at: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    has_new_data: bool = False
    cut_off: bool = False
    """Lost, or given up by a time limit, in the middle of a task: what that had begun may still run there."""


@dataclass
class Fold:
    """All nodes of an attempt so far. `dirty` are those that changed since the caller last emptied it."""

    hosts: dict[str, HostFold]
    dirty: set[str] = field(default_factory=set)
    stats: dict[str, dict[str, int]] | None = None
    no_hosts: bool = False
    stopped_early: bool = False
    came_to_its_end: bool = False

    @classmethod
    def of(cls, names: Iterable[str]) -> Fold:
        """Nothing has happened yet."""
        return cls(hosts={name: HostFold() for name in names})

    def take(self, event: RunnerEvent, *, counter: int) -> None:
        """Count one event; `counter` is its number in the record."""
        if event.kind == "stats":
            self.stats = event.stats
        elif event.kind == "no_hosts":
            self.no_hosts = True
        elif event.kind == "no_hosts_left":
            self.stopped_early = True
        host = self.hosts.get(event.host)
        if host is None or event.kind not in _SAID_OF_A_HOST:
            return
        _take_for_host(host, event, counter)
        self.dirty.add(event.host)

    def settle(self, *, finished: bool, torn: bool = False) -> None:
        """Give every node its last word. `finished`: the playbook came to its own end and was not stopped.

        `torn`: its record breaks off, maybe before its first line, as when its child was frozen and then killed: a node of
        which nothing was said may have been spoken to all the same.
        """
        self.came_to_its_end = finished
        for name, host in self.hosts.items():
            before = host.ending
            host.ending = self._last_word(name, host, finished=finished)
            if torn and host.ending == Ending.NOT_ATTEMPTED:
                host.ending = Ending.INTERRUPTED
            if host.ending != before:
                self.dirty.add(name)

    def counts(self) -> dict[str, int]:
        """Nodes by ending."""
        found: dict[str, int] = {}
        for host in self.hosts.values():
            found[host.ending.value] = found.get(host.ending.value, 0) + 1
        return found

    def cut_off(self) -> list[str]:
        """Nodes on which something may still run, though the playbook came to its end."""
        return sorted(name for name, host in self.hosts.items() if host.cut_off)

    def _last_word(self, name: str, host: HostFold, *, finished: bool) -> Ending:
        if self.stats is not None:
            if self.stats.get("dark", {}).get(name):
                return Ending.UNREACHABLE
            if self.stats.get("failures", {}).get(name):
                return Ending.FAILED
        if host.ending in {Ending.FAILED, Ending.UNREACHABLE} and self.stats is None:
            return host.ending
        if host.ending == Ending.WAITING:
            return Ending.NOT_ATTEMPTED
        if not finished or self._given_up_among_others():
            return Ending.INTERRUPTED
        return Ending.OK

    def _given_up_among_others(self) -> bool:
        """The playbook ended for all because of some: those without a failure of their own did not get to the end."""
        return self.stopped_early and self.stats is not None


def _take_for_host(host: HostFold, event: RunnerEvent, counter: int) -> None:
    host.last_task = event.task or host.last_task
    host.last_event_at = event.at
    if event.kind == "begin":
        host.ending = Ending.RUNNING  # after a failure: a rescue goes on, the statistics will tell
        return
    host.cut_off = host.cut_off or _is_cut_off(host, event)
    host.tasks_done += 1
    host.changed += int(event.changed)
    gathered = event.gathered()
    if gathered:
        host.data.update(gathered)
        host.has_new_data = True
    if not event.failed:
        host.ending = Ending.RUNNING
        return
    host.ending = Ending.UNREACHABLE if event.kind == "unreachable" else Ending.FAILED
    if not host.first_failure:
        host.first_failure = say_failure(event)
        host.failed_at = counter


def _is_cut_off(host: HostFold, event: RunnerEvent) -> bool:
    """True when a node was lost that a task may have come to, or a task ran into its own time limit.

    A lost node's first task may have come to it, too, unless ssh says that it didn't, and a failure that hides its
    words (`no_log`) may have been the time limit.
    """
    if event.kind == "unreachable":
        return host.tasks_done > 0 or not all(_NEVER_THERE.search(_words(item)) for item in _items(event))
    tried = [event.result, *_items(event)]
    return any("timedout" in item or (event.kind == "failed" and "censored" in item) for item in tried)


def _items(event: RunnerEvent) -> list[dict[str, Any]]:
    """What became of each item of a task that loops, or of the task. A loop's own result sums up and says no cause."""
    found = event.result.get("results")
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return items or [event.result]


def _words(result: Mapping[str, Any]) -> str:
    said = [str(result.get(key, "")).strip() for key in ("msg", "module_stderr", "stderr")]
    return "\n".join(words for place, words in enumerate(said) if words and words not in said[:place])


def say_failure(event: RunnerEvent) -> str:
    """What failed, in the words of the module: message first, then what it printed as an error.

    Of a loop the first item that failed speaks, after its name.
    """
    failed = [item for item in _items(event) if item.get("failed") or item.get("unreachable")]
    first = failed[0] if failed else event.result
    text = _words(first) or (
        "No answer from the node." if event.kind == "unreachable" else "It failed without a word."
    )
    if event.kind == "unreachable" and KEY_CHANGED in text:
        text = f"{_about_the_key(event.host)}\n{text}"
    if first.get("_ansible_item_label") is not None:
        text = f"{first['_ansible_item_label']}: {text}"
    return text[:LONGEST_FAILURE]


def _about_the_key(node: str) -> str:
    """What ssh can't know: that its advice names a file which is gone, and what helps here instead."""
    return (
        f"{node} showed another SSH host key than before. If it was reinstalled, run "
        f"`manage.py forget_host_key {node}`; if not, something else answers at its address."
    )


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What the job as a whole did: its move, its reason and one sentence."""

    action: JobAction
    reason: Reason
    text: str


_ACTIONS = {
    Outcome.SUCCEEDED: JobAction.SUCCEED,
    Outcome.PARTIAL: JobAction.SUCCEED_PARTLY,
    Outcome.FAILED: JobAction.FAIL,
}


def conclude(
    counts: Mapping[str, int], *, no_hosts: bool, last_words: str = "", policy: FailurePolicy = PER_NODE
) -> Conclusion:
    """The job's end from its nodes' endings, for a playbook that came to its own end. `last_words`: what it said last."""
    total = sum(counts.values())
    never = counts.get(Ending.NOT_ATTEMPTED, 0)
    outcome = policy.outcome(counts)
    if outcome is Outcome.SUCCEEDED:
        text = f"All {total} nodes are ok." if total > 1 else ""
        return Conclusion(action=JobAction.SUCCEED, reason=Reason.NONE, text=text)
    if never == total:
        return _never_began(no_hosts=no_hosts, last_words=last_words)
    text = say_counts(counts)
    if outcome is Outcome.FAILED and counts.get(Ending.OK, 0):
        text = f"{text} {policy.says}"
    return Conclusion(action=_ACTIONS[outcome], reason=_reason(counts), text=text)


def _never_began(*, no_hosts: bool, last_words: str) -> Conclusion:
    if no_hosts:
        text = "It did not start, because no node of the job was among the playbook's hosts."
        return Conclusion(action=JobAction.FAIL, reason=Reason.NO_HOSTS, text=text)
    text = f"It did not start, because: {last_words}" if last_words else "It ended before it reached a node."
    return Conclusion(action=JobAction.FAIL, reason=Reason.COULD_NOT_START, text=text[:500])


def _reason(counts: Mapping[str, int]) -> Reason:
    if counts.get(Ending.FAILED, 0):
        return Reason.HOSTS_FAILED
    if counts.get(Ending.UNREACHABLE, 0):
        return Reason.UNREACHABLE
    return Reason.STOPPED_EARLY


_WORDS = {
    Ending.OK: "ok",
    Ending.FAILED: "failed",
    Ending.UNREACHABLE: "could not be reached",
    Ending.NOT_ATTEMPTED: "not attempted",
    Ending.INTERRUPTED: "interrupted",
}


def say_counts(counts: Mapping[str, int]) -> str:
    """`Of 10 nodes 6 are ok, 1 failed, 2 could not be reached, 1 was not attempted.`"""
    total = sum(counts.values())
    parts = []
    for ending in (Ending.OK, Ending.FAILED, Ending.UNREACHABLE, Ending.NOT_ATTEMPTED, Ending.INTERRUPTED):
        count = counts.get(ending, 0)
        if count:
            verb = "" if ending in {Ending.FAILED, Ending.UNREACHABLE} else ("is " if count == 1 else "are ")
            parts.append(f"{count} {verb}{_WORDS[ending]}")
    return f"Of {total} node{'' if total == 1 else 's'} {', '.join(parts)}."


assert set(_WORDS) == FINAL_ENDINGS
