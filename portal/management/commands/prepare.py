"""What must happen to the database before a release of the portal can serve it?"""

from typing import Any

from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand

CATALOGUE = "load_catalogue"


class Command(BaseCommand):
    help = (
        "Migrate and load the catalogue (static files need no collecting). Running it again changes nothing."
    )
    requires_system_checks = []

    def handle(self, *args: object, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=options["verbosity"])
        if CATALOGUE in get_commands():
            call_command(CATALOGUE)
