"""Forget the SSH host keys of nodes, so that the next contact learns the new ones."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.kernel.errors import PortalError
from provisioning.fleet.models import Node
from provisioning.jobs.host_keys import forget


class Command(BaseCommand):
    """`manage.py forget_host_key NODE...`"""

    help = "Forget the SSH host keys of these nodes after they were reinstalled; the next job accepts what they show then."

    def add_arguments(self, parser: CommandParser) -> None:
        """The nodes."""
        parser.add_argument("nodes", nargs="+", help="names of nodes")

    def handle(self, *args: Any, **options: Any) -> None:
        """Forget and say how many there were."""
        for name in options["nodes"]:
            node = Node.objects.filter(name=name).first()
            if node is None:
                raise CommandError(f"There is no node {name}.")
            try:
                count = forget(node, by=None)
            except PortalError as problem:
                raise CommandError(problem.message) from problem
            self.stdout.write(f"{name}: {count} host key{'' if count == 1 else 's'} forgotten")
