"""How does a person start the whole portal on this machine?"""

import dataclasses
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.config import config
from portal.embedded.errors import StartError
from portal.embedded.supervisor import Supervisor


class Command(BaseCommand):
    help = (
        "Start PostgreSQL and the broker (where no URL is set), migrate, and run the web server, the workers "
        "and beat until Ctrl-C."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, help="port of the web server; without one PORTAL_PORT counts")
        parser.add_argument(
            "--host", help="address the web server listens on; without one PORTAL_HOST counts"
        )

    def handle(self, *args: object, **options: Any) -> None:
        given = {name: options[name] for name in ("port", "host") if options[name] is not None}
        chosen = dataclasses.replace(config(), **given)
        try:
            with Supervisor(chosen, screen=sys.stdout, after_ready=announce) as running:
                running.wait()
        except KeyboardInterrupt:
            return
        except StartError as problem:
            raise CommandError(str(problem)) from problem


def announce(running: Supervisor) -> None:
    running.log.say(f"the portal is ready at {running.base_url} (Ctrl-C stops it)")
