"""How long do workarounds live, as a picture? Falling steps, the half, and the day they meet."""

from __future__ import annotations

from typing import Any

from django.utils.safestring import SafeString

from portal.shell.charts import PALETTE, chart_figure
from requests_app.workarounds.debt import Debt

TITLE = "Workarounds that are still there, by age"


def half_life_figure(debt: Debt) -> SafeString:
    """The figure, with its numbers as a table; only where something was replaced."""
    return chart_figure(
        _spec(debt),
        title=TITLE,
        description=describe(debt),
        columns=("Age in days", "Still there", "Were there just before", "Replaced at that age"),
        rows=[(f"{step.days:.1f}", f"{step.share:.0%}", step.at_risk, step.replaced) for step in debt.steps],
    )


def describe(debt: Debt) -> str:
    """The picture in words, with what it is made from."""
    if not debt.counted:
        return "No workaround has taken effect in two years."
    half = (
        "More than half are still there."
        if debt.half_life is None
        else f"Half are replaced after {debt.half_life:.0f} days."
    )
    return (
        f"{half} Kaplan-Meier estimate over {debt.counted} workarounds of two years: {debt.replaced} replaced, "
        f"{debt.counted - debt.replaced} counted for as long as they were seen."
    )


def _spec(debt: Debt) -> dict[str, Any]:
    points = [{"days": 0.0, "share": 1.0}, *({"days": step.days, "share": step.share} for step in debt.steps)]
    x = {"field": "days", "type": "quantitative", "axis": {"title": "days", "grid": False}}
    y = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"title": "still there", "format": ".0%", "tickCount": 5},
    }
    line = {
        "data": {"values": points},
        "mark": {"type": "line", "interpolate": "step-after", "color": PALETTE["1"], "strokeWidth": 2},
        "encoding": {"x": x, "y": y},
    }
    half = {
        "data": {"values": [{"share": 0.5}]},
        "mark": {"type": "rule", "color": PALETTE["soft"], "strokeDash": [5, 4]},
        "encoding": {"y": {"field": "share", "type": "quantitative"}},
    }
    return {"height": 180, "layer": [line, half]}
