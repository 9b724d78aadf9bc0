"""How does a mail server hand the portal one mail? By a pipe; it is told to try again when the portal can't keep it."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from portal.notify.inbound.intake import take
from portal.notify.inbound.reading import MOST_BYTES

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: the mail server keeps the mail


class Command(BaseCommand):
    help = "Take in one mail from standard input, for an alias such as |manage.py receive_mail."

    def handle(self, *args: object, **options: Any) -> None:
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        try:
            row = take(raw)
        except (DatabaseError, OSError) as problem:
            self.stderr.write(f"not kept, try again: {problem}")
            raise SystemExit(TRY_AGAIN) from problem
        self.stdout.write(f"{row.verdict} {row.reason}".strip())
