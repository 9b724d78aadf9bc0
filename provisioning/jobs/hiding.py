"""What of an event is searched for secrets? Everything that somebody said, and nothing by which the portal tells events apart.

A password may be a word of Ansible's own, or a node's name. Replaced in its place there, it would change what happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from provisioning.jobs.redaction import Redactor
from provisioning.jobs.runner_events import GATHERED
from provisioning.jobs.vaulted import secrets_in

ENVELOPE = frozenset(
    {"event", "uuid", "parent_uuid", "counter", "created", "pid", "runner_ident", "start_line", "end_line"}
)
"""Keys of an event that the runner fills by itself."""
COUNTS = frozenset({"ok", "failures", "dark", "changed", "processed", "rescued", "ignored", "skipped"})
"""Keys of the statistics: numbers by node."""
DATA = COUNTS | {"host", "play", "task", "role", "res", "duration", "ignore_errors"}
"""Keys of what an event is about that the portal reads."""
WORDS = frozenset({"changed", "failed", "skipped", "unreachable", "results", "ansible_facts", *GATHERED})
"""Keys of a result that the portal reads."""


class Hiding:
    """Takes secrets out of events. `hosts` are the names of the attempt's nodes, which are no secret."""

    def __init__(self, secrets: Iterable[str], *, hosts: Iterable[str]) -> None:
        self._redactor = Redactor(secrets)
        self._hosts = frozenset(hosts)

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self._redactor.text(text)

    def event(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """An event of the runner without secrets. Most hold none, which one look at their JSON tells."""
        if not self._redactor.suspects(json.dumps(raw, ensure_ascii=False, default=str)):
            return dict(raw)
        told = {key: value if key in ENVELOPE else self._redactor.value(value) for key, value in raw.items()}
        data = raw.get("event_data")
        if isinstance(data, Mapping):
            told["event_data"] = self._data(data, stats=raw.get("event") == "playbook_on_stats")
        return told

    def _data(self, data: Mapping[str, Any], *, stats: bool) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for key, value in data.items():
            if key == "host":
                told[key] = self._host(str(value))
            elif stats and key in COUNTS and isinstance(value, Mapping):
                told[key] = {
                    self._host(str(host)): self._redactor.value(count) for host, count in value.items()
                }
            elif key == "res" and isinstance(value, Mapping):
                told[key] = self._result(value)
            else:
                told[key if key in DATA else self.text(str(key))] = self._redactor.value(value)
        return told

    def _host(self, name: str) -> str:
        return name if name in self._hosts else self.text(name)

    def _result(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Facts hold gathered things under names of their own."""
        told: dict[str, Any] = {}
        for key, value in result.items():
            if key == "ansible_facts" and isinstance(value, Mapping):
                told[key] = self._result(value)
            else:
                told[key if key in WORDS else self.text(str(key))] = self._redactor.value(value)
        return told


def hiding_for(spec: Mapping[str, Any], inventory: Path) -> Hiding:
    """For an attempt: what it was handed, and what its vaults hold."""
    told = json.loads(Path(spec["hide"]).read_text(encoding="utf-8")) if spec.get("hide") else []
    groups = json.loads(inventory.read_text(encoding="utf-8"))
    hosts = [host for group in groups.values() for host in group.get("hosts", {})]
    vaulted = secrets_in(Path(spec["project_dir"]), spec.get("vaults") or {})
    return Hiding({*told, *vaulted}, hosts=hosts)
