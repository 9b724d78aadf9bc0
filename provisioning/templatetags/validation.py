"""How do pages of other rooms show what validation found? A card for a node, a card for a cluster, and numbers."""

from __future__ import annotations

from typing import Any

from django import template

from provisioning.contracts import ClusterView
from provisioning.fleet.models import Node
from provisioning.validation import queries, telling
from provisioning.validation.shown import visible
from provisioning.validation.summary import summary_of

register = template.Library()


@register.filter
def figure(value: float | None) -> str:
    """A measured number with four digits that count; an unknown one is a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1000 else f"{value:.4g}"


@register.filter
def inert(text: str) -> str:
    """Words of a node with their controls and hidden signs spelled out."""
    return visible(text)


@register.inclusion_tag("provisioning/validation/cluster_summary.html", takes_context=True)
def cluster_validation(context: template.Context, cluster: ClusterView) -> dict[str, Any]:
    """The card of a cluster that the person who asks may see."""
    return {"cluster": cluster, "summary": summary_of(context["request"].user, cluster)}


@register.inclusion_tag("provisioning/validation/node_card.html", takes_context=True)
def node_validation(context: template.Context, node: Node) -> dict[str, Any]:
    """The card of a node that the person who asks may see: its newest report in short."""
    report = queries.newest_of(context["request"].user, node)
    words = telling.verdict_words(report.verdict) if report is not None else ""
    return {"node": node, "report": report, "words": words}
