"""What is kept of what a playbook says, and how does it reach the database? Read, redacted, capped, in batches.

The numbers follow from the order in the spool alone, so reading it again writes nothing twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from provisioning.jobs.ansi import plain
from provisioning.jobs.caps import (
    EVENT_LIMIT,
    HOST_DATA_LIMIT,
    JOB_LIMIT,
    bytes_of,
    head_and_tail,
    json_of,
    plain_json_of,
    storable,
    storable_value,
)
from provisioning.jobs.endings import Fold, HostFold
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.months import this_month
from provisioning.jobs.overflow import Kept, Overflow
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.runner_events import GATHERED, RESULTS, RunnerEvent, read_event
from provisioning.jobs.storing import EventRow, HostRow, store_events, store_hosts
from provisioning.jobs.telling import tell

logger = logging.getLogger(__name__)

LONGEST_NAME = 200
NOT_KEPT = frozenset({*GATHERED, "ansible_facts", "invocation", "stdout_lines", "stderr_lines"})
"""Keys of a result that an event leaves out: kept with the node, or said twice."""
SAY_RESULTS = RESULTS | {"item"}
NOTHING = "{}"
NAMES_AT_ONCE = 2000


class Recorder:
    """Turns raw events of one attempt into rows, and keeps what each node has come to.

    `month` is the one the job was made in. What rows have no room for goes to the attempt's overflow on disk.
    """

    def __init__(
        self,
        *,
        job_id: int,
        attempt: int,
        nodes: Mapping[str, int],
        redactor: Redactor,
        month: date | None = None,
    ) -> None:
        self.fold = Fold.of(nodes)
        self.last_words = ""
        self._job_id = job_id
        self._attempt = attempt
        self._nodes = dict(nodes)
        self._redactor = redactor
        self._month = month or this_month()
        self._overflow = Overflow(job_id=job_id, attempt=attempt, month=self._month)
        self._rows: list[EventRow] = []
        self._names: dict[str, str] = {}
        self._counter = 0
        self._heard_error = False
        self._kept = 0
        self._dropped = 0

    @property
    def waiting(self) -> int:
        """Rows that have not reached the database."""
        return len(self._rows)

    @property
    def rows(self) -> list[EventRow]:
        """Those rows."""
        return list(self._rows)

    @property
    def has_news(self) -> bool:
        """True when there is something to write."""
        return bool(self._rows or self.fold.dirty)

    def take(self, raw: Mapping[str, Any], *, at: datetime) -> None:
        """Count one raw event; `at` stands in where it has no time of its own."""
        event = read_event(raw, default_at=at)
        if event.kind == "begin":
            self.fold.take(event, counter=self._counter + 1)
            return
        text = self._redactor.text(storable(event.text.replace("\r\n", "\n"))).strip("\n")
        if not _says_something(event, text):
            return
        self._counter += 1
        self.fold.take(event, counter=self._counter)
        if event.kind == "note":
            self._hear(plain(text).strip())
        self._rows.append(self._row(event, text))

    def _hear(self, words: str) -> None:
        """Keep what may explain why nothing began: the first error, or what was said last."""
        if not self._heard_error:
            self._heard_error = "ERROR" in words[:20]
            self.last_words = words.removeprefix("[ERROR]: ").removeprefix("ERROR! ")

    def flush(self) -> None:
        """Write what waits, in the caller's transaction, which has made sure that the attempt is ours."""
        self._write_overflow()
        store_events(self._rows)
        self._write_hosts()
        Job.objects.filter(pk=self._job_id, attempt__lte=self._attempt).update(
            bytes_kept=self._kept, bytes_dropped=self._dropped
        )
        tell(self._job_id)

    def _write_overflow(self) -> None:
        """Before the rows that name it. A disk that refuses costs the overflow, never the job."""
        try:
            self._overflow.flush()
        except OSError as problem:
            logger.warning("the overflow of job %s can't be written: %s", self._job_id, problem)
            self._dropped += self._overflow.give_up()
            self._rows = [row._replace(on_disk=False) for row in self._rows]

    def flushed(self) -> None:
        """The caller's transaction has committed: forget what it wrote."""
        self._rows.clear()
        for name in self.fold.dirty:
            self.fold.hosts[name].has_new_data = False
        self.fold.dirty.clear()

    def _row(self, event: RunnerEvent, whole: str) -> EventRow:
        text, cut = head_and_tail(whole)
        result = inline = self._result(event)
        if result is not None and bytes_of(result) > EVENT_LIMIT:
            inline, cut = None, cut + bytes_of(result)
        data = self._data(event, inline)
        size = bytes_of(text) + (bytes_of(data) if data != NOTHING else 0)
        if self._kept + size > JOB_LIMIT:
            cut, size, text, data, inline = cut + size, 0, "", NOTHING, None
        self._kept += size
        on_disk = bool(cut) and self._keep_whole(whole, None if inline is not None else result)
        self._dropped += 0 if on_disk else cut
        return EventRow(
            job_id=self._job_id,
            month=self._month,
            attempt=self._attempt,
            counter=self._counter,
            kind=event.kind,
            at=event.at,
            host=storable(event.host)[:255],
            play=self._name(event.play),
            task=self._name(event.task),
            changed=event.changed,
            failed=event.failed,
            text=text,
            data=data,
            truncated=bool(cut),
            on_disk=on_disk,
        )

    def _keep_whole(self, text: str, result: str | None) -> bool:
        """On disk; False when there is no room."""
        told = None if result is None else json.loads(result)
        return self._overflow.add(Kept(counter=self._counter, text=text, result=told))

    def _data(self, event: RunnerEvent, result: str | None) -> str:
        """JSON of what an event tells besides its text; `result` is JSON already."""
        data: dict[str, Any] = {}
        if event.seconds is not None:
            data["seconds"] = event.seconds
        if event.role:
            data["role"] = storable(event.role)[:LONGEST_NAME]
        if event.ignored:
            data["ignored"] = True
        told = json_of(data) if data else NOTHING
        if result is None:
            return told
        return f'{told[:-1]}{", " if data else ""}"result": {result}}}'

    def _result(self, event: RunnerEvent) -> str | None:
        """JSON of the module's result without what is kept with the host; None for an event that has none."""
        if event.kind not in SAY_RESULTS:
            return None
        result = {
            key: value
            for key, value in event.result.items()
            if key not in NOT_KEPT and not key.startswith("_ansible")
        }
        text = plain_json_of(result)
        if text is None or self._redactor.suspects(text):
            return json_of(self._redactor.value(storable_value(result)))
        return text

    def _name(self, text: str) -> str:
        """The same few come with every event."""
        found = self._names.get(text)
        if found is None:
            if len(self._names) >= NAMES_AT_ONCE:
                self._names.clear()
            found = self._names[text] = self._redactor.text(storable(plain(text)))[:LONGEST_NAME]
        return found

    def _write_hosts(self) -> None:
        by_node = {
            self._nodes[name]: self.fold.hosts[name] for name in self.fold.dirty if name in self._nodes
        }
        store_hosts(
            self._job_id, self._attempt, [self._host(node, by_node[node]) for node in sorted(by_node)]
        )
        for node, host in by_node.items():
            if host.has_new_data:
                self._write_data(node, host)

    def _host(self, node: int, host: HostFold) -> HostRow:
        return HostRow(
            node_id=node,
            ending=host.ending.value,
            tasks_done=host.tasks_done,
            changed=host.changed,
            last_task=self._name(host.last_task),
            last_event_at=host.last_event_at,
            first_failure=self._redactor.text(storable(plain(host.first_failure))),
            first_failure_counter=host.failed_at,
        )

    def _write_data(self, node: int, host: HostFold) -> None:
        """Results may be megabytes: they are written when they come, not with every batch."""
        data = self._redactor.value(storable_value(host.data))
        size = bytes_of(json_of(data))
        fits = size <= HOST_DATA_LIMIT
        kept = data if fits else {"left_out": f"{size} bytes are more than {HOST_DATA_LIMIT}"}
        HostResult.objects.filter(job_id=self._job_id, attempt=self._attempt, node_id=node).update(
            data=kept, data_truncated=not fits
        )


def _says_something(event: RunnerEvent, text: str) -> bool:
    """The runner also reports empty output; it would only be blank lines."""
    return event.kind != "note" or bool(plain(text).strip())
