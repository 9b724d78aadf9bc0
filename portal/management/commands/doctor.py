"""What is wrong with this installation, in plain words, and how is it mended?"""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from portal.config import config
from portal.doctor import machine, mail, services, workers
from portal.doctor.checks import Answer, Context, Level, run
from portal.doctor.effective import Effective, effective

LOADED = (machine, services, mail, workers)  # importing them registers their checks, in this order
SIGNS = {Level.OK: "ok", Level.WARN: "warn", Level.WRONG: "WRONG", Level.SKIPPED: "-"}


class Command(BaseCommand):
    help = "Check this installation and say how to mend what is wrong. Exit code 1 when something is."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the answers and settings as JSON")
        parser.add_argument("--variables", action="store_true", help="only list every PORTAL_ variable")

    def handle(self, *args: object, **options: Any) -> None:
        chosen = config()
        found = list(effective(chosen))
        if options["variables"]:
            self._print_variables(found)
            return
        answers = list(run(Context(chosen)))
        if options["json"]:
            self._print_json(answers, found)
        else:
            self._print_words(answers, found)
        if any(answer.level is Level.WRONG for answer in answers):
            sys.exit(1)

    def _print_words(self, answers: list[Answer], found: list[Effective]) -> None:
        for answer in answers:
            self.stdout.write(f"{self._sign(answer.level)} {answer.name:<14} {answer.says}")
            if answer.mend:
                self.stdout.write(f"{'':21} -> {answer.mend}")
        self.stdout.write("\nSettings")
        for entry in found:
            source = "default" if entry.is_default else "set"
            self.stdout.write(f"  {entry.variable:<28} {entry.value} ({source})")
        amount = sum(answer.level is Level.WRONG for answer in answers)
        verdict = (
            "Nothing is wrong."
            if amount == 0
            else f"{amount} of {len(answers)} checks found something wrong."
        )
        self.stdout.write(f"\n{verdict}")

    def _sign(self, level: Level) -> str:
        styles = {
            Level.OK: self.style.SUCCESS,
            Level.WARN: self.style.WARNING,
            Level.WRONG: self.style.ERROR,
            Level.SKIPPED: self.style.NOTICE,
        }
        return str(styles[level](f"{SIGNS[level]:<5}"))

    def _print_json(self, answers: list[Answer], found: list[Effective]) -> None:
        told = {
            "checks": [asdict(answer) for answer in answers],
            "settings": [asdict(entry) for entry in found],
        }
        self.stdout.write(json.dumps(told, indent=2))

    def _print_variables(self, found: list[Effective]) -> None:
        for entry in found:
            self.stdout.write(f"{entry.variable:<28} {entry.says}")
