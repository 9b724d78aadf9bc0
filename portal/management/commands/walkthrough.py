"""Does the main job work on this machine, from nothing to a ready cluster?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.config import config, environment_for
from portal.demo import telling
from portal.demo.client import ApiRefusal
from portal.demo.performance import Performance, write_figures
from portal.demo.story import NotDelivered
from portal.embedded.errors import StartError


class Command(BaseCommand):
    help = (
        "Run the main job once on an empty var folder, print its timeline, stop everything, and exit with 0 only if the "
        "cluster was delivered."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", metavar="FILE", help="keep the figures there")
        parser.add_argument(
            "--here", action="store_true", help="in the var folder that is set, not in a new one"
        )

    def handle(self, *args: object, **options: Any) -> None:
        if options["here"]:
            self._run(options["json"])
        else:
            self._run_in_a_new_folder(options["json"])

    def _run_in_a_new_folder(self, json_file: str | None) -> None:
        """Settings are read when a process starts, so a folder of its own needs a process of its own."""
        with tempfile.TemporaryDirectory(prefix="quartermaster-") as folder:
            command = [sys.executable, str(config().base_dir / "manage.py"), "walkthrough", "--here"]
            if json_file:
                command += ["--json", str(Path(json_file).absolute())]
            done = subprocess.run(command, env=environment_for(var_dir=Path(folder)), check=False)
        if done.returncode:
            raise CommandError("The cluster was not delivered.", returncode=done.returncode)

    def _run(self, json_file: str | None) -> None:
        show = Performance(config())
        try:
            with show.supervisor() as running:
                outcome = show.play(running)
                show.tell(running, [*telling.timeline(outcome), *telling.result(outcome)])
                if json_file:
                    write_figures(Path(json_file), outcome)
        except (NotDelivered, ApiRefusal, StartError) as problem:
            raise CommandError(str(problem)) from problem
        except KeyboardInterrupt as stop:
            raise CommandError("Stopped.") from stop
