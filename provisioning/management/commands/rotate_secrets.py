"""How does an admin retire a key that seals credentials?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from provisioning.credentials.sealing import CantOpen
from provisioning.credentials.services import seal_anew


class Command(BaseCommand):
    help = (
        "Seal every credential with the newest key of PORTAL_CREDENTIAL_KEYS. Put a new key first, run this, and take "
        "the old one away: all or nothing, and repeatable."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = seal_anew(by=None)
        except CantOpen as problem:
            raise CommandError(f"Nothing was changed: a credential can't be opened, {problem}.") from problem
        self.stdout.write(
            f"{count} credential{'' if count == 1 else 's'} sealed anew; the others were up to date."
        )
