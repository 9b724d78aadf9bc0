"""How is a schedule set, and what happens when it is due? Each time once; one that comes too late is left out and says so."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, PortalError
from portal.kernel.units import say_span
from portal.ledger.services import record
from provisioning.events import SCHEDULE_RAN, SCHEDULE_REMOVED, SCHEDULE_SET, SCHEDULE_SKIPPED
from provisioning.fleet.access import check_operates
from provisioning.fleet.models import Node, Sku
from provisioning.fleet.states import NodeState
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.services import request_job
from provisioning.schedules.models import Schedule, ScheduleRun
from provisioning.schedules.wall_time import is_zone

logger = logging.getLogger(__name__)

TOO_LATE = timedelta(hours=2)
PLAYBOOKS = ("validate_node",)
"""Playbooks that need no variables and change nothing on a node."""
PRIORITY = -1
MOST_AT_ONCE = 100


@transaction.atomic
def set_schedule(
    *,
    name: str,
    playbook: str = "validate_node",
    sku: str = "",
    at: time,
    zone: str,
    days: Sequence[int] = (),
    at_once: int = 4,
    enabled: bool = True,
    by: User,
) -> Schedule:
    """Make the schedule `name` or change it; operators only. `days` empty means every day."""
    check_operates(by)
    found_sku = Sku.objects.filter(slug=sku).first() if sku else None
    complaints: dict[str, list[str]] = {}
    if playbook not in PLAYBOOKS:
        complaints["playbook"] = [f"Use one of {', '.join(PLAYBOOKS)}."]
    if sku and found_sku is None:
        complaints["sku"] = [f"There is no SKU {sku[:40]}."]
    if not is_zone(zone):
        complaints["zone"] = ["Use the name of a time zone, like Europe/Berlin."]
    if not set(days) <= set(range(7)):
        complaints["days"] = ["Days are numbers from 0, Monday, to 6, Sunday."]
    if not 1 <= at_once <= MOST_AT_ONCE:
        complaints["at_once"] = [f"Between 1 and {MOST_AT_ONCE}."]
    if complaints:
        raise Invalid(complaints)
    schedule = Schedule.objects.select_for_update(no_key=True, of=("self",)).filter(name=name).first()
    schedule = schedule or Schedule(name=name)
    schedule.playbook, schedule.sku, schedule.at, schedule.zone = playbook, found_sku, at, zone
    schedule.days, schedule.at_once, schedule.enabled = sorted(set(days)), at_once, enabled
    schedule.next_at = schedule.due_after(now()) if enabled else None
    schedule.changed_at, schedule.changed_by = now(), by
    schedule.save()
    told = {"at": f"{at:%H:%M}", "zone": zone, "days": schedule.days, "sku": sku, "enabled": enabled}
    record(SCHEDULE_SET, subject=f"schedule {name}", payload=told, by=by)
    return schedule


@transaction.atomic
def remove_schedule(schedule: Schedule, *, by: User) -> None:
    """Remove it; jobs that it asked for stay."""
    check_operates(by)
    name = schedule.name
    schedule.delete()
    record(SCHEDULE_REMOVED, subject=f"schedule {name}", payload={"name": name}, by=by)


def tick(at: datetime | None = None) -> int:
    """Run what is due; how many schedules that were. Whoever ticks at the same time takes others."""
    ran = 0
    while _run_one(at or now()):
        ran += 1
    return ran


@transaction.atomic
def _run_one(at: datetime) -> bool:
    schedule = (
        Schedule.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
        .filter(enabled=True, next_at__lte=at)
        .order_by("next_at", "pk")
        .first()
    )
    if schedule is None or schedule.next_at is None:
        return False
    due = schedule.next_at
    schedule.next_at = schedule.due_after(at)
    schedule.save(update_fields=["next_at"])
    run, is_new = ScheduleRun.objects.get_or_create(
        schedule=schedule, due_at=due, defaults={"text": "", "ran_at": at}
    )
    if is_new:
        _settle(schedule, run, late=at - due)
    return True


def _settle(schedule: Schedule, run: ScheduleRun, *, late: timedelta) -> None:
    jobs: list[Job] = []
    if late > TOO_LATE:
        run.skipped, run.text = True, f"It was left out: nobody looked for {say_span(late)} after it was due."
    elif _still_runs(schedule):
        run.skipped, run.text = True, "It was left out: the time before is not over yet."
    else:
        try:
            with transaction.atomic():
                jobs = _sweep(schedule)
        except PortalError as problem:
            run.skipped, run.text = True, f"It could not run: {problem.message}"[:300]
        else:
            run.text = f"{len(jobs)} jobs were asked for." if jobs else "No node was free."
    run.save()
    run.jobs.set(jobs)
    told = {"due_at": run.due_at.isoformat(), "text": run.text, "jobs": [job.ref for job in jobs]}
    name = SCHEDULE_SKIPPED if run.skipped else SCHEDULE_RAN
    record(name, subject=f"schedule {schedule.name}", payload=told, by=None)


def _still_runs(schedule: Schedule) -> bool:
    return Job.objects.filter(schedule_runs__schedule=schedule, ended_at=None).exists()


def _sweep(schedule: Schedule) -> list[Job]:
    """Jobs over the nodes that are free now, some nodes each, to run when there is room."""
    busy = NodeLease.objects.filter(released_at=None).values("node")
    nodes = Node.objects.filter(status=NodeState.FREE).exclude(pk__in=busy).order_by("name")
    if schedule.sku is not None:
        nodes = nodes.filter(sku=schedule.sku)
    return [
        request_job(
            playbook=schedule.playbook,
            nodes=some,
            variables={},
            purpose=f"Sweep {schedule.name}",
            priority=PRIORITY,
            by=None,
        )
        for some in _portions(nodes, schedule.at_once)
    ]


def _portions(nodes: Iterable[Node], size: int) -> list[list[Node]]:
    """So many nodes a job, and none of two sites."""
    at: dict[str, list[Node]] = {}
    for node in nodes:
        at.setdefault(node.site, []).append(node)
    return [here[start : start + size] for here in at.values() for start in range(0, len(here), size)]
