"""What goes wrong with broker and database? They are killed, frozen, restarted, cut off from everybody, or all of the portal is."""

from __future__ import annotations

import signal

from django.db import connection

from tests.chaos.evidence import Fault
from tests.chaos.faults import Chaos, Deed

LONGEST_RESTART = 5.0
"""Seconds after which the last of them is started again."""


def _own(chaos: Chaos, program: str) -> bool:
    return program in chaos.stage.kept


def kill(program: str, longest: float, number: signal.Signals = signal.SIGKILL) -> Deed:
    """A fault that ends a server of the campaign's own, which stays away for at most so many seconds."""

    def deed(chaos: Chaos, name: str) -> Fault | None:
        if not _own(chaos, program):
            return None
        seconds, fault = chaos.dice.uniform(0, longest), Fault(name, everybody=True)
        chaos.stage.kept[program].kill(number=number, away=seconds)
        chaos.stage.soon(seconds, fault.over)
        return fault

    return deed


def freeze(program: str, longest: float) -> Deed:
    """A fault that freezes a server of the campaign's own for at most so many leases."""

    def deed(chaos: Chaos, name: str) -> Fault | None:
        if not _own(chaos, program):
            return None
        seconds, fault = chaos.dice.uniform(0.1, longest) * chaos.lease, Fault(name, everybody=True)
        chaos.stage.kept[program].freeze(seconds)
        chaos.stage.soon(seconds, fault.over)
        return fault

    return deed


def restart_everything(chaos: Chaos, name: str) -> Fault | None:
    """All of the portal at once in the middle of a job, as when its machines lose their power; the nodes don't notice."""
    if chaos.running() is None:
        return None
    fault, longest = Fault(name, everybody=True), 0.0
    for kept in chaos.stage.kept.values():
        seconds = chaos.dice.uniform(0, LONGEST_RESTART)
        longest = max(longest, seconds)
        kept.kill(number=signal.SIGKILL, away=seconds)
    chaos.stage.soon(longest, fault.over)
    return fault


def cut_database(chaos: Chaos, name: str) -> Fault | None:
    """Every connection but the campaign's own."""
    fault = Fault(name, everybody=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    fault.over()
    return fault
