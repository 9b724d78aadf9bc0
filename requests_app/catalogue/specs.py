"""What do the answers ask for? Typed lines of a ticket, its title, and the draft of an order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypedDict

from provisioning.contracts import StorageMount
from requests_app.catalogue.answers import in_words
from requests_app.catalogue.offering_shape import NEEDED, OPTIONAL
from requests_app.catalogue.questions import Live, condition_of, is_met, questions_of

LONGEST_TITLE = 200
_WORD = re.compile(r"\{([a-z0-9_]*)\}")


@dataclass(frozen=True, kw_only=True)
class LineSpec:
    """One asked thing. `quantity` is nodes to build or to add, GPUs more of a quota, or items in `unit`.

    `days` is how long it is wanted from the decision on, None for good. `fulfilment` says how a yes is fulfilled, and `asks`
    holds the answers that needs, under the names of the single offering of that kind.
    """

    what: str
    label: str
    quantity: int
    unit: str
    fulfilment: str = "manual"
    asks: dict[str, Any] = field(default_factory=dict)
    sku: str = ""
    wanted_by: date | None = None
    days: int | None = None


def lines_of(content: Mapping[str, Any], answers: Mapping[str, Any], *, live: Live) -> tuple[LineSpec, ...]:
    """The lines that good `answers` to an offering make, in the order in which they are decided."""
    if content["fulfilment"] != "bundle":
        return (_line(content, answers, live=live),)
    asked = [each for each in content["lines"] if is_met(condition_of(each.get("show_if")), answers)]
    return tuple(_line(each, _own_answers(each, answers), live=live) for each in asked)


def _own_answers(line: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """What a bundle's line reads, under the names of the single offering: `takes` says which question each comes from."""
    takes = {"wanted_by": "wanted_by", **line.get("takes", {})}
    quantity = line.get("quantity")
    if quantity is not None:
        takes[quantity["question"]] = quantity["question"]
    return {name: answers[question] for name, question in takes.items() if question in answers}


def _line(content: Mapping[str, Any], answers: Mapping[str, Any], *, live: Live) -> LineSpec:
    """The one line of an offering, or of one part of a bundle."""
    fulfilment = content["fulfilment"]
    common = _Common(
        fulfilment=fulfilment,
        asks={name: answers[name] for name in (*NEEDED[fulfilment], *OPTIONAL) if name in answers},
        wanted_by=_wanted_by(answers),
    )
    match fulfilment:
        case "cluster_build":
            return _build(answers, common)
        case "cluster_resize":
            return _resize(answers, common, live)
        case "quota_raise" | "quota_boost":
            return _quota(answers, common)
        case _:
            return _item(content, answers, common)


class _Common(TypedDict):
    fulfilment: str
    asks: dict[str, Any]
    wanted_by: date | None


def _build(answers: Mapping[str, Any], common: _Common) -> LineSpec:
    return LineSpec(
        what="nodes",
        label=f"Nodes for the cluster {answers['cluster_name']}",
        quantity=answers["nodes"],
        unit="nodes",
        sku=answers["sku"],
        days=answers.get("lease_days"),
        **common,
    )


def _resize(answers: Mapping[str, Any], common: _Common, live: Live) -> LineSpec:
    cluster = live.cluster(answers["cluster"])
    return LineSpec(
        what="nodes",
        label=f"Nodes more for {answers['cluster'] if cluster is None else cluster.label}",
        quantity=answers["nodes"],
        unit="nodes",
        sku="" if cluster is None else cluster.sku,
        **common,
    )


def _quota(answers: Mapping[str, Any], common: _Common) -> LineSpec:
    days = answers.get("days") if common["fulfilment"] == "quota_boost" else None
    return LineSpec(
        what="gpus",
        label="GPUs more in the quota" if days is None else f"GPUs more in the quota for {days} days",
        quantity=answers["gpus"],
        unit="GPUs",
        sku=answers["sku"],
        days=days,
        **common,
    )


def _item(content: Mapping[str, Any], answers: Mapping[str, Any], common: _Common) -> LineSpec:
    quantity = content.get("quantity")
    count = None if quantity is None else answers.get(quantity["question"])
    return LineSpec(
        what="item",
        label=content["title"],
        quantity=1 if count is None else count,
        unit="" if quantity is None or count is None else quantity["unit"],
        **common,
    )


def _wanted_by(answers: Mapping[str, Any]) -> date | None:
    day = answers.get("wanted_by")
    return None if day is None else date.fromisoformat(day)


def title_of(content: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    """The ticket's title: the offering's pattern with the answers put in; what was not asked is a dash."""
    said = {each.name: in_words(each, answers.get(each.name)) for each in questions_of(content)}
    title = _WORD.sub(lambda found: said[found[1]], content["ticket_title"])
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


@dataclass(frozen=True, kw_only=True)
class OrderDraft:
    """What the answers say about a cluster beyond kind and number of its nodes. `lease_days` is None for an open lease."""

    cluster_name: str
    lease_days: int | None
    driver_version: str
    storage_mounts: tuple[StorageMount, ...]


def order_draft(content: Mapping[str, Any], answers: Mapping[str, Any]) -> OrderDraft:
    """The draft of an order from the answers to an offering that builds a cluster."""
    if content["fulfilment"] != "cluster_build":
        raise ValueError(f"{content['slug']} builds no cluster")
    return OrderDraft(
        cluster_name=answers["cluster_name"],
        lease_days=answers.get("lease_days"),
        driver_version=answers.get("driver_version", ""),
        storage_mounts=tuple(StorageMount(**mount) for mount in answers.get("storage_mounts", ())),
    )


def cluster_of(content: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    """The ref of the cluster that a resize is about."""
    if content["fulfilment"] != "cluster_resize":
        raise ValueError(f"{content['slug']} resizes no cluster")
    return str(answers["cluster"])
