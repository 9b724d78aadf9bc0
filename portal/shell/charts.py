"""How does a chart reach a page? Vega-Lite to SVG on the server: no script, no style attribute, both themes in one.

The spec is a Vega-Lite mapping or an Altair chart with its data inside. Colours come from PALETTE: placeholders that Vega
carries through and that become CSS variables afterwards, so that one drawing follows the page's theme.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol
from xml.etree import ElementTree

import vl_convert
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

WIDE, NARROW = 680, 320
_KEPT_DRAWINGS = 128
_LARGEST_SPEC = 2_000_000  # characters; a chart of more than that is a table

# name -> placeholder. Use these, and only these, as colours in a spec.
PALETTE: dict[str, str] = {
    "ink": "#010101",
    "soft": "#010102",
    "grid": "#010103",
    "surface": "#010104",
    "1": "#010201",
    "2": "#010202",
    "3": "#010203",
    "4": "#010204",
    "5": "#010205",
    "6": "#010206",
    "ok": "#010301",
    "warn": "#010302",
    "danger": "#010303",
    "info": "#010304",
    "active": "#010305",
    "quiet": "#010306",
}
_VARIABLES = {
    PALETTE[name]: f"var(--{name}-firm)"
    if name in {"ok", "warn", "danger", "info", "active", "quiet"}
    else "var(--surface)"
    if name == "surface"
    else f"var(--chart-{name})"
    for name in PALETTE
}

_CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": PALETTE["soft"],
        "titleColor": PALETTE["soft"],
        "gridColor": PALETTE["grid"],
        "domainColor": PALETTE["grid"],
        "tickColor": PALETTE["grid"],
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 600,
        "labelLimit": 180,
    },
    "legend": {
        "labelColor": PALETTE["soft"],
        "titleColor": PALETTE["soft"],
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "top",
    },
    "header": {"labelColor": PALETTE["soft"], "titleColor": PALETTE["soft"]},
    "title": {"color": PALETTE["ink"], "fontSize": 14, "anchor": "start"},
    "text": {"color": PALETTE["ink"], "fontSize": 12},
    "rule": {"color": PALETTE["soft"]},
    "mark": {"color": PALETTE["1"]},
    "range": {"category": [PALETTE[str(number)] for number in range(1, 7)]},
}

_TAGS = frozenset({"svg", "g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clipPath"})
_NAMES = (
    "id d x y x1 x2 y1 y2 cx cy r dx dy width height viewBox transform fill stroke opacity fill-opacity stroke-opacity"
    " stroke-width stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit text-anchor"
    " font-size font-weight font-style clip-path display"
)
_ATTRIBUTES = frozenset(_NAMES.split())


class Altair(Protocol):
    """What charts of Altair have."""

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite spec."""
        ...


def chart_svg(
    spec: Mapping[str, Any] | Altair, *, title: str, description: str, width: int = WIDE, css_class: str = ""
) -> SafeString:
    """The chart as inline SVG, `width` pixels wide; title and description are what a screen reader says.

    ValueError when the spec fetches data from elsewhere, or is too large to be drawn.
    """
    mapping = dict(spec) if isinstance(spec, Mapping) else spec.to_dict()
    mapping = {**mapping, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    text = json.dumps(mapping, sort_keys=True, default=str)
    if len(text) > _LARGEST_SPEC:
        raise ValueError(f"a spec of {len(text)} characters is too large for a chart")
    box, inside = _drawing(text)
    mark = "chart-" + hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()[:12]
    return format_html(
        '<svg role="img" aria-labelledby="{0}-t {0}-d" class="{1}" {2}>'
        '<title id="{0}-t">{3}</title><desc id="{0}-d">{4}</desc>{5}</svg>',
        mark,
        css_class,
        box,
        title,
        description,
        inside,
    )


def chart_figure(
    spec: Mapping[str, Any] | Altair,
    *,
    title: str,
    description: str,
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    caption: str = "",
) -> SafeString:
    """A figure: the chart for wide and for narrow screens, a caption, and its numbers as a table on demand."""
    wide = chart_svg(spec, title=title, description=description, width=WIDE, css_class="chart-wide")
    narrow = chart_svg(spec, title=title, description=description, width=NARROW, css_class="chart-narrow")
    return format_html(
        '<figure class="chart">{}{}<figcaption>{}</figcaption>{}</figure>',
        wide,
        narrow,
        caption or description,
        _numbers(title, columns, [list(row) for row in rows]) if columns else "",
    )


def _numbers(title: str, columns: Sequence[str], rows: list[list[object]]) -> SafeString:
    head = format_html_join("", '<th scope="col">{}</th>', ((column,) for column in columns))
    body = format_html_join("", "<tr>{}</tr>", ((_cells(row),) for row in rows))
    return format_html(
        '<details class="more"><summary>The numbers</summary><div class="table-wrap" tabindex="0" role="region"'
        ' aria-label="{0}"><table class="table"><caption class="visually-hidden">{0}</caption>'
        "<thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div></details>",
        title,
        head,
        body,
    )


def _cells(row: list[object]) -> SafeString:
    return format_html_join("", "<td>{}</td>", (("–" if cell is None else cell,) for cell in row))


@lru_cache(maxsize=_KEPT_DRAWINGS)
def _drawing(text: str) -> tuple[SafeString, SafeString]:
    """The view box and the inside of the drawing of a spec. Kept, because pages are asked for more often than they change."""
    spec = json.loads(text)
    if _fetches(spec):
        raise ValueError("a chart holds its data itself; it fetches nothing")
    config = _merged(_CONFIG, spec.pop("config", {}))
    svg = vl_convert.vegalite_to_svg(spec, config=config, allowed_base_urls=[])
    root = ElementTree.fromstring(svg)  # noqa: S314 - made by vl_convert in this process
    prefix = hashlib.sha256(text.encode()).hexdigest()[:8]
    inside = "".join(_plain(child, prefix) for child in root)
    box = format_html('viewBox="{}"', root.get("viewBox", "0 0 1 1"))
    return box, mark_safe(inside)  # noqa: S308 - every tag and attribute is on a list, every value is escaped


def _fetches(part: object) -> bool:
    if isinstance(part, dict):
        return any(
            name in {"url", "href"} or _fetches(inner) for name, inner in part.items() if name != "values"
        )
    return isinstance(part, list) and any(_fetches(inner) for inner in part)


def _merged(under: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for name, value in over.items():
        old = merged.get(name)
        merged[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _plain(element: ElementTree.Element, prefix: str) -> SafeString:
    """The element with the tags and attributes a drawing needs, nothing that the policy forbids or a script could use."""
    tag = element.tag.rpartition("}")[2]
    if tag not in _TAGS:
        return mark_safe("")
    kept = (
        (name, _value(name, value, prefix))
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and (name, value) != ("opacity", "1")
    )
    attributes = format_html_join("", ' {}="{}"', kept)
    children = format_html_join("", "{}", ((_plain(child, prefix),) for child in element))
    return format_html("<{0}{1}>{2}{3}</{0}>", mark_safe(tag), attributes, element.text or "", children)  # noqa: S308 - from _TAGS


def _value(name: str, value: str, prefix: str) -> str:
    """Colours become variables; ids become the drawing's own, because a page has several drawings."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "clip-path":
        return value.replace("url(#", f"url(#{prefix}-")
    return _VARIABLES.get(value, value)
