"""Writes one JSON line per task and host to the file named in QM_OUTCOMES, for tests to read."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: outcomes
    type: notification
    short_description: one JSON line per task and host
    description: For tests.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "outcomes"

    def _write(self, outcome: str, result: Any) -> None:
        row = {
            "host": result._host.get_name(),
            "task": result._task.get_name().rsplit(" : ", 1)[-1],
            "outcome": outcome,
        }
        row["result"] = json.loads(self._dump_results(result._result, indent=0))
        with open(os.environ["QM_OUTCOMES"], "a", encoding="utf-8") as out:  # noqa: PTH123, TID251 - a plugin of Ansible, not of the house
            out.write(json.dumps(row) + "\n")

    def v2_runner_on_ok(self, result: Any, **more: Any) -> None:
        self._write("changed" if result._result.get("changed") else "ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False, **more: Any) -> None:
        self._write("failed", result)

    def v2_runner_on_unreachable(self, result: Any, **more: Any) -> None:
        self._write("unreachable", result)

    def v2_runner_on_skipped(self, result: Any, **more: Any) -> None:
        self._write("skipped", result)
