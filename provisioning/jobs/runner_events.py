"""What did the playbook say? One event of the runner, read into a typed record; anything it holds may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

KINDS = {
    "playbook_on_start": "start",
    "playbook_on_play_start": "play",
    "playbook_on_task_start": "task",
    "playbook_on_handler_task_start": "task",
    "playbook_on_cleanup_task_start": "task",
    "playbook_on_no_hosts_matched": "no_hosts",
    "playbook_on_no_hosts_remaining": "no_hosts_left",
    "playbook_on_stats": "stats",
    "playbook_on_include": "include",
    "playbook_on_notify": "notify",
    "runner_on_start": "begin",
    "runner_on_ok": "ok",
    "runner_on_async_ok": "ok",
    "runner_on_failed": "failed",
    "runner_on_async_failed": "failed",
    "runner_on_skipped": "skipped",
    "runner_on_unreachable": "unreachable",
    "runner_item_on_ok": "item",
    "runner_item_on_failed": "item",
    "runner_item_on_skipped": "item",
    "runner_retry": "retry",
    "warning": "note",
    "deprecated": "note",
    "system_warning": "note",
    "error": "note",
    "verbose": "note",
    "debug": "note",
}
RESULTS = frozenset({"ok", "failed", "skipped", "unreachable"})
"""Kinds that end a task on a host."""

GATHERED = ("probe", "report")
"""Keys of a result that the portal keeps whole, with the host: what a node measured and which versions it has."""


_OF_A_HOST = RESULTS | {"begin", "item", "retry"}


@dataclass(slots=True, kw_only=True)
class RunnerEvent:
    """One event. `ignored`: the task failed and the playbook goes on as if it had not.

    Not frozen: making it would take three times as long, and one is made for every line of a spool.
    """

    kind: str
    at: datetime
    host: str = ""
    play: str = ""
    task: str = ""
    role: str = ""
    text: str = ""
    ignored: bool = False
    changed: bool = False
    seconds: float | None = None
    result: dict[str, Any] = field(default_factory=dict)
    stats: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """A failure that counts."""
        return self.kind == "unreachable" or (self.kind == "failed" and not self.ignored)

    def gathered(self) -> dict[str, Any]:
        """What the portal keeps whole of this result."""
        facts = self.result.get("ansible_facts")
        places = (self.result, facts) if isinstance(facts, dict) else (self.result,)
        found: dict[str, Any] = {}
        for place in places:
            for key in GATHERED:
                if isinstance(place.get(key), dict):
                    found[key] = place[key]
        return found


def read_event(raw: Mapping[str, Any], *, default_at: datetime) -> RunnerEvent:
    """Read what the runner wrote; `default_at` stands in for a time that is missing or no time."""
    told = raw.get("event_data")
    data: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    result = data.get("res")
    kind = KINDS.get(_text(raw.get("event")), "note")
    return RunnerEvent(
        kind=kind,
        at=_time(raw.get("created"), default_at),
        host=_text(data.get("host")) if kind in _OF_A_HOST else "",
        play=_text(data.get("play")),
        task=_text(data.get("task")),
        role=_text(data.get("role")),
        text=_text(raw.get("stdout")),
        ignored=data.get("ignore_errors") is True,
        changed=isinstance(result, dict) and result.get("changed") is True,
        seconds=_seconds(data.get("duration")),
        result=result if isinstance(result, dict) else {},
        stats=_stats(data) if kind == "stats" else {},
    )


def _stats(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        name: {str(host): int(count) for host, count in counts.items() if isinstance(count, int)}
        for name, counts in data.items()
        if name in {"ok", "failures", "dark", "rescued", "ignored", "skipped", "changed", "processed"}
        and isinstance(counts, Mapping)
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object, default: datetime) -> datetime:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else default
    except ValueError:
        return default
    return found if found.tzinfo is not None else default
