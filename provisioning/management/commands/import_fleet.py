"""Take a fleet from an Ansible inventory, from the JSON of `ansible-inventory --list`, or from CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.kernel.errors import PortalError
from provisioning.fleet.importing import ImportResult, import_fleet
from provisioning.fleet.inventory import Format

MOST_SHOWN = 50


class Command(BaseCommand):
    """`manage.py import_fleet FILE [--dry-run]`"""

    help = (
        "Read nodes from an Ansible inventory (YAML or INI), the JSON of `ansible-inventory --list`, or CSV. "
        "All or nothing, and repeatable: the same file twice changes nothing. Nothing is ever deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The file and how to take it."""
        parser.add_argument("file", type=Path, help="the file to read")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change and change nothing"
        )
        parser.add_argument(
            "--format",
            choices=[each.value for each in Format],
            help="what the file holds; guessed from its name and content when silent",
        )
        parser.add_argument(
            "--register-only",
            action="store_true",
            help="leave new nodes registered; an operator admits them to the pool",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say what was done."""
        try:
            result = import_fleet(
                path=options["file"],
                wanted=Format(options["format"]) if options["format"] else None,
                dry_run=options["dry_run"],
                admit=not options["register_only"],
                by=None,
            )
        except PortalError as problem:
            raise CommandError(problem.message) from problem
        self._show(result)
        if result.complaints:
            raise CommandError(
                f"Nothing was imported: {len(result.complaints)} complaint"
                f"{'' if len(result.complaints) == 1 else 's'}. Correct the file and run this again."
            )
        if options["dry_run"]:
            self.stdout.write("Dry run: nothing was changed.")

    def _show(self, result: ImportResult) -> None:
        diff = result.diff
        self._lines([f"+ {row.name} {row.sku} {row.address}" for row in diff.added])
        self._lines(
            [
                f"~ {name}: {change.field} {change.old!r} -> {change.new!r}"
                for name, changes in diff.changed.items()
                for change in changes
            ]
        )
        self._lines([f"? {name}: not in the file, left as it is" for name in diff.missing])
        self._lines(
            [f"- {name} is of no use here ({hosts} hosts), ignored" for name, hosts in result.ignored.items()]
        )
        for complaint in result.complaints:
            self.stderr.write(f"! {complaint}")
        self.stdout.write(
            f"{len(diff.added)} added, {len(diff.changed)} changed, {len(diff.unchanged)} unchanged, "
            f"{len(diff.missing)} not in the file."
        )

    def _lines(self, lines: list[str]) -> None:
        for line in lines[:MOST_SHOWN]:
            self.stdout.write(line)
        if len(lines) > MOST_SHOWN:
            self.stdout.write(f"  ... and {len(lines) - MOST_SHOWN} more")
