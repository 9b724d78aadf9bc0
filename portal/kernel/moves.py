"""Who may write a status? Only `move`: one guarded UPDATE that loses cleanly when somebody was quicker."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from django.db import models

from portal.kernel.errors import LostRace
from portal.kernel.transitions import Machine

M = TypeVar("M", bound="Stateful")


class Stateful(models.Model):
    """A row that lives in a machine. `version` grows with every move and guards edits too."""

    status = models.CharField(max_length=24)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        abstract = True


def status_check(machine: Machine[Any, Any], name: str) -> models.CheckConstraint:
    """A CHECK constraint that lists the machine's states."""
    states = [str(state) for state in machine.states]
    return models.CheckConstraint(condition=models.Q(status__in=states), name=name)


def move(row: M, action: StrEnum, *, machine: Machine[Any, Any], extra: Mapping[str, Any] | None = None) -> M:
    """Do `action`: UPDATE ... WHERE id, status and version are what `row` says.

    `extra` sets other columns in the same statement. Returns `row` with its new values. Raises IllegalMove when the
    table has no such action, LostRace when the row changed since it was read.
    """
    target = str(machine.after(row.status, action))
    changes: dict[str, Any] = {**(extra or {}), "status": target, "version": row.version + 1}
    manager = type(row)._base_manager
    changed = manager.filter(pk=row.pk, status=row.status, version=row.version).update(**changes)
    if changed == 0:
        now, version = manager.filter(pk=row.pk).values_list("status", "version").first() or (None, None)
        raise LostRace(
            f"Somebody else was quicker: this {machine.name} is {now or 'gone'} now. Reload and look again.",
            data={"seen": row.status, "now": now, "action": str(action), "version": version},
        )
    for name, value in changes.items():
        setattr(row, name, value)
    return row
