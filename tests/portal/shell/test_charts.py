"""Is a chart safe under the policy, in both themes, and readable without eyes?"""

from __future__ import annotations

from typing import Any

import pytest

from portal.shell.charts import PALETTE, chart_figure, chart_svg


def bars(*names: str) -> dict[str, Any]:
    """A bar for each name."""
    return {
        "data": {"values": [{"name": name, "value": number} for number, name in enumerate(names, 3)]},
        "mark": {"type": "bar", "color": PALETTE["danger"]},
        "encoding": {
            "x": {"field": "value", "type": "quantitative"},
            "y": {"field": "name", "type": "nominal", "title": "Node"},
        },
    }


def test_chart_has_nothing_the_policy_forbids() -> None:
    svg = chart_svg(bars("gpu-001", "gpu-002"), title="GEMM", description="Two nodes.")
    assert " style=" not in svg
    assert "<style" not in svg
    assert "<script" not in svg
    assert " class=" not in svg.replace('class=""', "")


def test_colours_follow_the_theme() -> None:
    svg = chart_svg(bars("gpu-001"), title="GEMM", description="One node.")
    assert 'fill="var(--danger-firm)"' in svg
    assert 'fill="var(--chart-soft)"' in svg
    assert not [placeholder for placeholder in PALETTE.values() if placeholder in svg]


def test_name_from_a_person_stays_text() -> None:
    hostile = "</text><script>alert(1)</script>"
    svg = chart_svg(bars(hostile), title=hostile, description=hostile)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


def test_screen_reader_gets_title_and_description() -> None:
    svg = chart_svg(bars("gpu-001"), title="GEMM by node", description="gpu-001 gives 3.")
    assert 'role="img"' in svg
    assert ">GEMM by node</title>" in svg
    assert ">gpu-001 gives 3.</desc>" in svg


def test_spec_that_fetches_is_refused() -> None:
    spec = {**bars("a"), "data": {"url": "https://example.org/data.json"}}
    with pytest.raises(ValueError, match="fetches nothing"):
        chart_svg(spec, title="t", description="d")


def test_link_in_a_spec_is_refused() -> None:
    spec = bars("a")
    spec["encoding"]["href"] = {"value": "javascript:alert(1)"}
    with pytest.raises(ValueError, match="fetches nothing"):
        chart_svg(spec, title="t", description="d")


def test_figure_tells_its_numbers_and_keeps_nought_apart_from_unknown() -> None:
    figure = chart_figure(
        bars("gpu-001"),
        title="t",
        description="d",
        columns=("Node", "Value"),
        rows=[("gpu-001", 0), ("gpu-002", None)],
    )
    assert "<td>0</td>" in figure
    assert "<td>–</td>" in figure
    assert 'class="chart-wide"' in figure
    assert 'class="chart-narrow"' in figure


def test_two_charts_of_a_page_share_no_id() -> None:
    one = chart_svg(bars("a"), title="t", description="d", width=680)
    two = chart_svg(bars("a"), title="t", description="d", width=320)

    def ids(svg: str) -> set[str]:
        return {part.split('"')[0] for part in svg.split(' id="')[1:]}

    assert ids(one)
    assert not ids(one) & ids(two)
