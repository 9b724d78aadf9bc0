"""How does a person start a worker? For kinds of work and for sites; the process becomes Celery's."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.config import config
from provisioning.workers.machine import this_machine
from provisioning.workers.routing import Work, read_sites
from provisioning.workers.starting import celery_words


class Command(BaseCommand):
    help = (
        "Start a worker: `doorbell` is the portal's short work, `looks` are looks at draining nodes, `jobs` run "
        "playbooks. Looks and jobs are for the sites of PORTAL_WORKER_SITES."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "work", nargs="+", choices=[work.value for work in Work], help="what this worker does"
        )
        parser.add_argument("--sites", help="sites, separated by commas, instead of PORTAL_WORKER_SITES")
        parser.add_argument("--slots", type=int, help="how many at once, instead of PORTAL_WORKER_SLOTS")
        parser.add_argument("--dry-run", action="store_true", help="only print what would be started")

    def handle(self, *args: object, **options: Any) -> None:
        words = _words(
            [Work(word) for word in options["work"]], sites=options["sites"], slots=options["slots"]
        )
        if options["dry_run"]:
            self.stdout.write(" ".join(["celery", *words]))
            return
        os.execv(sys.executable, [sys.executable, "-m", "celery", *words])  # noqa: S606 - words of our own


def _words(works: list[Work], *, sites: str | None, slots: int | None) -> list[str]:
    chosen = config()
    told = (
        chosen.worker_sites
        if sites is None
        else tuple(word.strip() for word in sites.split(",") if word.strip())
    )
    if slots is not None and slots < 1:
        raise CommandError("--slots: use a whole number from 1 on")
    if slots is None and Work.JOBS in works:
        slots = chosen.worker_slots
    try:
        words = celery_words(works, sites=read_sites(told), slots=slots, machine=this_machine())
    except ValueError as problem:
        raise CommandError(str(problem)) from problem
    return ["-A", "portal", *words, "-l", chosen.log_level]
