"""How does a person see the whole portal at work on this machine?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.config import config
from portal.demo import telling
from portal.demo.client import ApiRefusal
from portal.demo.performance import Performance
from portal.demo.story import NotDelivered
from portal.embedded.errors import StartError


class Command(BaseCommand):
    help = (
        "Start the portal with a simulated fleet, run its main job through the public API, and serve until Ctrl-C. "
        "A second start goes on with the same data."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--only-stage", action="store_true", help="leave the main job to you")
        parser.add_argument(
            "--again", action="store_true", help="run the main job even if it has been run here"
        )

    def handle(self, *args: object, **options: Any) -> None:
        show = Performance(config())
        try:
            with show.supervisor() as running:
                running.wait_until_healthy()
                if options["again"] or not (show.was_played() or options["only_stage"]):
                    self._play(show, running)
                    show.set_out(running)
                show.tell(running, telling.sign_in(running.base_url, show.logins.values()))
                running.log.say("Ctrl-C stops everything")
                running.wait()
        except KeyboardInterrupt:
            return
        except StartError as problem:
            raise CommandError(str(problem)) from problem

    def _play(self, show: Performance, running: Any) -> None:
        try:
            outcome = show.play(running)
        except (NotDelivered, ApiRefusal) as problem:
            running.log.say(f"the main job did not end well: {problem}")
            return
        show.tell(running, [*telling.timeline(outcome), *telling.result(outcome)])
