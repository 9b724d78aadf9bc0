"""How do the checks read on the reference page? `docs/reference/checks.md` is held to this by a test."""

from __future__ import annotations

from provisioning.validation.checks import CHECKS
from provisioning.validation.checks.registry import Check
from provisioning.validation.policy import PROFILES

COLUMNS = ("check", "reads", "makes a node", "pass", "warn", "fail", "not measured", "required in", "source")


def table() -> str:
    """One row per check, in the order of their ids."""
    rows = [_row(COLUMNS), _row(("---",) * len(COLUMNS))]
    rows.extend(_row(_cells(check)) for _, check in sorted(CHECKS.items()))
    return "\n".join(rows)


def _cells(check: Check) -> tuple[str, ...]:
    required = [name for name, ids in sorted(PROFILES.items()) if check.id in ids]
    return (
        f"**{check.id}** {check.title}",
        ", ".join(f"`{metric}`" for metric in check.reads) or "which tools answered",
        check.severity.value,
        check.told.passes,
        check.told.warns or "never",
        check.told.fails,
        check.told.not_measured,
        ", ".join(required) or "none",
        check.source,
    )


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
