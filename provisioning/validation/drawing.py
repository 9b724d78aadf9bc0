"""How do a node's GPUs stand beside those of its peers? One drawing a metric: dots, ticks, the reference and the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from django.utils.safestring import SafeString

from portal.shell.charts import PALETTE, chart_figure
from provisioning.validation.telling import MetricRow

MOST_TICKS = 40
"""Peers drawn for a device; of more, as many evenly through their order, the lowest and the highest among them."""
_ROW = 26


def metric_figure(node: str, row: MetricRow, peers: Sequence[Mapping[str, float]]) -> SafeString:
    """The figure of one metric that was measured, with its numbers as a table."""
    beside = {device: sorted(peer[device] for peer in peers if device in peer) for device, _ in row.by_device}
    return chart_figure(
        _spec(row, beside),
        title=f"{row.title} of {node}, {row.unit}",
        description=_description(node, row, peers),
        caption=_caption(node, row, len(peers)),
        columns=("Device", f"{node}, {row.unit}", "Lowest peer", "Median of the peers", "Highest peer"),
        rows=[_numbers(device, value, beside[device]) for device, value in row.by_device],
    )


def _spec(row: MetricRow, beside: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    devices = [device for device, _ in row.by_device]
    y = {
        "field": "device",
        "type": "nominal",
        "sort": devices,
        "axis": {"title": None, "grid": True, "tickSize": 0},
    }
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": {"zero": False, "nice": True, "padding": 12},
        "axis": {"title": row.unit, "tickCount": 5, "grid": False},
    }
    ticks = [
        {"device": device, "value": value} for device, values in beside.items() for value in _thinned(values)
    ]
    dots = [{"device": device, "value": value} for device, value in row.by_device]
    layers: list[dict[str, Any]] = []
    if ticks:
        mark = {"type": "tick", "color": PALETTE["soft"], "opacity": 0.5, "thickness": 2, "size": 15}
        layers.append({"data": {"values": ticks}, "mark": mark, "encoding": {"x": x, "y": y}})
    for value, dash in ((row.reference, []), (row.limit, [5, 4])):
        if value is not None:
            layers.append(_rule(value, dash))
    layers.append(_dots(row, dots, x, y))
    return {"height": max(3, len(devices) + 1) * _ROW, "layer": layers}


def _rule(value: float, dash: list[int]) -> dict[str, Any]:
    colour = PALETTE["danger"] if dash else PALETTE["ink"]
    mark = {"type": "rule", "color": colour, "strokeWidth": 1.5, "strokeDash": dash}
    return {
        "data": {"values": [{"value": value}]},
        "mark": mark,
        "encoding": {"x": {"field": "value", "type": "quantitative"}},
    }


def _dots(row: MetricRow, dots: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    limit = row.limit if row.limit is not None else 0.0
    colour = {
        "condition": {"test": f"datum.value < {limit!r}", "value": PALETTE["danger"]},
        "value": PALETTE["1"],
    }
    shape = {"condition": {"test": f"datum.value < {limit!r}", "value": "diamond"}, "value": "circle"}
    mark = {"type": "point", "filled": True, "size": 95, "opacity": 1}
    return {
        "data": {"values": dots},
        "mark": mark,
        "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
    }


def _thinned(values: Sequence[float]) -> list[float]:
    if len(values) <= MOST_TICKS:
        return list(values)
    step = (len(values) - 1) / (MOST_TICKS - 1)
    return [values[round(index * step)] for index in range(MOST_TICKS)]


def _numbers(device: str, value: float, peers: Sequence[float]) -> list[object]:
    if not peers:
        return [device, f"{value:.5g}", None, None, None]
    return [device, f"{value:.5g}", f"{peers[0]:.5g}", f"{median(peers):.5g}", f"{peers[-1]:.5g}"]


def _caption(node: str, row: MetricRow, peers: int) -> str:
    one = "Each dot is a GPU" if len(row.by_device) > 1 else "The dot is"
    words = f"{one} of {node}" if len(row.by_device) > 1 else f"{one} {node}"
    others = (
        f", grey ticks are {_count(peers)} of the same sweep"
        if peers
        else "; no other node was measured with it"
    )
    lines = ""
    if row.reference is not None:
        lines = " The line is the reference, the dashed line the limit: what lies left of it is slow."
    return f"{words}{others}.{lines}"


def _count(peers: int) -> str:
    return "the other node" if peers == 1 else f"the {peers} other nodes"


def _description(node: str, row: MetricRow, peers: Sequence[Mapping[str, float]]) -> str:
    values = [value for _, value in row.by_device]
    told = f"{node} reaches {min(values):.5g} to {max(values):.5g} {row.unit}, slowest on {row.device}."
    others = [value for peer in peers for value in peer.values()]
    if others:
        told += f" {len(peers)} other nodes reach {min(others):.5g} to {max(others):.5g}."
    if row.reference is not None and row.limit is not None:
        told += f" The reference is {row.reference:.5g}, the limit {row.limit:.5g} {row.unit}."
    return told
