"""Which simulated nodes shall there be? `manage.py simulate create --count 12 DIR`, then inject, clear, list, inventory."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from provisioning.simulator import cli


class Command(BaseCommand):
    help = "Makes, lists, breaks and mends simulated GPU nodes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        cli.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cli.run(argparse.Namespace(**options), self.stdout)  # type: ignore[arg-type]  # OutputWrapper writes like a file
        except cli.EXPECTED as error:
            raise CommandError(str(error)) from error
