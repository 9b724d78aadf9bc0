"""What do events cost? Into the table, through the whole path, a large one, many nodes, and a long queue."""

from __future__ import annotations

import json
import resource
import string
import time
from pathlib import Path
from random import Random
from typing import Any

import psutil
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from bench.inside.stage import BOOKS, SKU, a_job, nodes
from portal.kernel.clock import now
from provisioning.fleet.models import Node, Sku
from provisioning.jobs import claims
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeLease
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.spool import SpoolReader
from provisioning.jobs.states import JobState
from provisioning.jobs.storing import EventRow, store_events

AT_ONCE = 2000


def raw_event(host: str, number: int) -> dict[str, Any]:
    """An event as the runner writes it for a task that went well on a node: about 1.1 kB."""
    at = "2026-11-30T10:00:00.123456+00:00"
    task = "Install the container runtime's packages"
    return {
        "uuid": f"5f2c1d1e-9d0a-4c3e-8a55-{number:012d}",
        "counter": number,
        "stdout": f"\x1b[0;33mchanged: [{host}] => (item=package-{number})\x1b[0m",
        "start_line": number,
        "end_line": number + 1,
        "runner_ident": "j12-1-0a0a0a0a",
        "event": "runner_on_ok",
        "pid": 4711,
        "created": at,
        "parent_uuid": "02420a0a-0a0a-7c1c-9f3b-00000000002a",
        "event_data": {
            "playbook": "provision_node.yml",
            "playbook_uuid": "a6b2f7c0-3c1a-4f64-9a43-0c7b7f3c9d11",
            "play": "Provision the nodes",
            "play_uuid": "02420a0a-0a0a-7c1c-9f3b-000000000002",
            "play_pattern": "targets",
            "task": task,
            "task_uuid": "02420a0a-0a0a-7c1c-9f3b-00000000002a",
            "task_action": "node_package",
            "resolved_action": "node_package",
            "task_args": "",
            "task_path": "ansible/roles/container_runtime/tasks/main.yml:12",
            "role": "container_runtime",
            "host": host,
            "remote_addr": host,
            "start": at,
            "end": at,
            "duration": 0.213,
            "res": {
                "changed": True,
                "rc": 0,
                "stdout": "Setting up package ... done. " * 8,
                "invocation": {},
            },
            "event_loop": None,
        },
    }


def recorder(job: Job, names: dict[str, int], attempt: int = 1) -> Recorder:
    """As a worker has one, in a portal that knows three keys and five passwords."""
    random = Random(7)
    words = string.ascii_letters + string.digits
    keys = ["\n".join("".join(random.choices(words, k=70)) for _ in range(30)) for _ in range(3)]
    hidden = [*keys, *("".join(random.choices(words, k=16)) for _ in range(5))]
    return Recorder(job_id=job.pk, attempt=attempt, nodes=names, redactor=Redactor(hidden), month=job.month)


def store(count: str) -> dict[str, Any]:
    """Events a second into the table by COPY and by bulk_create, in batches as a worker writes them."""
    chosen = nodes(1)
    job = a_job(chosen)
    events = int(count)
    found = {}
    for attempt, (name, write) in enumerate((("copy", store_events), ("bulk_create", _bulk_create)), start=1):
        taken = recorder(job, {}, attempt)
        for number in range(1, events + 1):
            taken.take(raw_event(chosen[0].name, number), at=now())
        made = taken.rows
        begun = time.perf_counter()
        for start in range(0, events, AT_ONCE):
            with transaction.atomic():
                write(made[start : start + AT_ONCE])
        found[name] = events / (time.perf_counter() - begun)
    return found


def _bulk_create(made: list[EventRow]) -> None:
    JobEvent.objects.bulk_create([row.as_model() for row in made], batch_size=1000)


def memory(told: str) -> dict[str, Any]:
    """A spool of `count` events read, redacted, capped and stored as a worker does it; megabytes on the way."""
    count = int(told)
    chosen = nodes(1)
    job = a_job(chosen)
    spool = Path(settings.VAR_DIR) / "long.spool"
    with spool.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            file.write(json.dumps(raw_event(chosen[0].name, number)) + "\n")
    taker = recorder(job, {node.name: node.pk for node in chosen})
    reader, own, taken = SpoolReader(spool), psutil.Process(), 0
    marks: list[tuple[int, float]] = []
    begun, used = time.perf_counter(), time.process_time()
    reader.moved = True
    while reader.moved:
        for raw in reader.new_events():
            taker.take(raw, at=now())
            taken += 1
            if taker.waiting >= AT_ONCE:
                _flush(taker)
            if taken % max(1, count // 4) == 0:
                marks.append((taken, own.memory_info().rss / 2**20))
    _flush(taker)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    reader.close()
    assert JobEvent.objects.filter(job=job).count() == count
    size = spool.stat().st_size / count
    spool.unlink()
    return {"events": count, "bytes": size, "seconds": seconds, "cpu": cpu, "marks": marks}


def _flush(taker: Recorder) -> None:
    with transaction.atomic():
        taker.flush()
    taker.flushed()


def large(size: str) -> dict[str, Any]:
    """One event of `size` MB: seconds until it is stored, and megabytes that it took."""
    chosen = nodes(1)
    job = a_job(chosen)
    raw = raw_event(chosen[0].name, 1)
    raw["stdout"] = "a line of a very long output\n" * (int(size) * 2**20 // 29)
    line = json.dumps(raw)
    spool = Path(settings.VAR_DIR) / "large.spool"
    spool.write_text(line + "\n")
    del raw, line
    taker, reader = recorder(job, {node.name: node.pk for node in chosen}), SpoolReader(spool)
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    reader.moved = True
    while reader.moved:
        for told in reader.new_events():
            taker.take(told, at=now())
    _flush(taker)
    seconds = time.perf_counter() - begun
    reader.close()
    spool.unlink()
    kept = JobEvent.objects.get(job=job)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "mb": int(size),
        "seconds": seconds,
        "more_mb": max(0, after - before) / 1024,
        "kept": len(kept.text),
        "on_disk": kept.on_disk,
    }


def queued(count: str) -> dict[str, Any]:
    """The next of `count` queued jobs: seconds and statements of finding and of claiming it."""
    [node] = nodes(1)
    made = Job.objects.bulk_create(
        Job(playbook="drain_node", purpose="bench", status=JobState.QUEUED, variables=BOOKS["drain_node"])
        for _ in range(int(count))
    )
    HostResult.objects.bulk_create(HostResult(job=job, attempt=1, node=node) for job in made)
    found: dict[str, Any] = {"jobs": int(count)}
    for name, act in (
        ("next", lambda: claims.next_runnable("jobs")),
        ("claim", lambda: claims.claim(made[0].pk, worker="bench")),
    ):
        with CaptureQueriesContext(connection) as asked:
            begun = time.perf_counter()
            assert act() is not None
            found[name] = {"seconds": time.perf_counter() - begun, "statements": len(asked)}
    NodeLease.objects.filter(node=node).delete()
    Job.objects.filter(pk__in=[job.pk for job in made]).delete()
    return found


def many(count: str) -> dict[str, Any]:
    """A batch of news of `count` nodes: seconds and statements of writing it."""
    sku = Sku.objects.get(slug=SKU)
    chosen = Node.objects.bulk_create(
        Node(name=f"many-{number}", sku=sku, address="192.0.2.1", status="free")
        for number in range(int(count))
    )
    job = a_job(chosen)
    taker = recorder(job, {node.name: node.pk for node in chosen})
    for number, node in enumerate(chosen, start=1):
        taker.take(raw_event(node.name, number), at=now())
    with CaptureQueriesContext(connection) as asked:
        begun = time.perf_counter()
        _flush(taker)
        seconds = time.perf_counter() - begun
    return {"hosts": int(count), "seconds": seconds, "statements": len(asked)}
