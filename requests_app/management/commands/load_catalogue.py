"""How does the catalogue learn what its files say? `manage.py load_catalogue`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from requests_app.catalogue.loader import load_offerings
from requests_app.catalogue.offering_files import OFFERINGS_DIR, OfferingFileError, read_folder


class Command(BaseCommand):
    """Load the offerings; nothing is changed when one file is wrong."""

    help = "Load offerings from YAML as immutable versions: all or nothing, and nothing twice."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where the files are, and whether to look only."""
        parser.add_argument("--folder", type=Path, default=OFFERINGS_DIR, help="Folder of *.yaml files.")
        parser.add_argument("--check", action="store_true", help="Only say what is wrong with the files.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, then load, then say what changed."""
        try:
            files = read_folder(options["folder"])
        except OfferingFileError as problem:
            raise CommandError(f"Nothing was loaded.\n{problem}") from problem
        if options["check"]:
            self.stdout.write(f"{len(files)} offerings are good.")
            return
        loaded = load_offerings(files=files, by=None)
        for title in ("added", "changed", "retired"):
            slugs = getattr(loaded, title)
            if slugs:
                self.stdout.write(f"{title}: {', '.join(slugs)}")
        self.stdout.write(f"{len(files)} offerings, {len(loaded.unchanged)} of them unchanged.")
