"""How does an operator run a playbook by hand? What may be run, on which nodes, in which waves; looked at first, then started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.errors import Invalid, Refused
from portal.kernel.units import say_some
from provisioning.fleet.listing import NodeFilter, nodes_of
from provisioning.fleet.models import Node
from provisioning.fleet.states import NodeState
from provisioning.jobs import waves
from provisioning.jobs.deciders import START, only_operators
from provisioning.jobs.disturbing import check_disturbs_nobody
from provisioning.jobs.models import Job
from provisioning.jobs.playbooks import REGISTRY, Playbook, playbook, read_variables
from provisioning.jobs.services import request_job
from provisioning.jobs.waves import Asked

MOST_NODES = 5000
WHEN_THERE_IS_ROOM = -1
IN_TURN = 0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A run as it is asked for. `names` in the order in which they go; without any the filter chooses. `asked` None: no waves.

    `in_turn`: not only when there is room, but in turn with what orders need.
    """

    playbook: str
    purpose: str
    variables: Mapping[str, Any]
    names: Sequence[str] = ()
    wanted: NodeFilter = field(default_factory=NodeFilter)
    asked: Asked | None = None
    in_turn: bool = False


@dataclass(frozen=True, kw_only=True)
class PreviewWave:
    """A wave as it would go: names of its nodes, in how many parts, and how many of them may fail (None: any)."""

    number: int
    title: str
    nodes: tuple[str, ...]
    parts: int
    may_fail: int | None
    budget: str


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a run would do."""

    book: Playbook
    variables: Mapping[str, Any]
    nodes: tuple[Node, ...]
    waves: tuple[PreviewWave, ...]


def runnable() -> list[Playbook]:
    """Playbooks that operators may run by hand."""
    return [book for book in REGISTRY.values() if book.by_hand]


def preview(wanted: Wanted, *, by: User) -> Preview:
    """What a run would do, checked as if it were started; nothing is kept.

    Raises NotAllowed for who isn't an operator, Invalid for answers that can't be used, and Refused for a playbook that is
    not for this, or nodes that somebody uses.
    """
    only_operators(by, START)
    book = _book(wanted.playbook)
    if not wanted.purpose.strip():
        raise Invalid({"purpose": ["Say what it is for: the list of jobs shows it."]})
    told = read_variables(book, wanted.variables)
    nodes = _nodes(wanted, by=by)
    check_disturbs_nobody(book, told, [node.pk for node in nodes])
    names, sites = {node.pk: node.name for node in nodes}, {node.pk: node.site for node in nodes}
    cut = waves.plan(list(names), wanted.asked)
    return Preview(
        book=book,
        variables=told,
        nodes=tuple(nodes),
        waves=tuple(
            PreviewWave(
                number=number,
                title=wave.title,
                nodes=tuple(names[node] for node in wave.nodes),
                parts=_parts(book, [sites[node] for node in wave.nodes]),
                may_fail=wave.may_fail,
                budget="" if wave.budget is None else str(wave.budget),
            )
            for number, wave in enumerate(cut.waves, start=1)
        ),
    )


def _parts(book: Playbook, sites: Sequence[str]) -> int:
    """How many workers get nodes that stand at these sites."""
    return sum(len(waves.shards(range(count), size=book.shard_nodes)) for count in Counter(sites).values())


@transaction.atomic
def start_run(wanted: Wanted, *, by: User) -> Job:
    """Start it. Raises as `preview` does."""
    found = preview(wanted, by=by)
    return request_job(
        playbook=found.book.name,
        nodes=found.nodes,
        variables=found.variables,
        purpose=" ".join(wanted.purpose.split()),
        priority=IN_TURN if wanted.in_turn else WHEN_THERE_IS_ROOM,
        asked=wanted.asked,
        by=by,
    )


def _book(name: str) -> Playbook:
    book = playbook(name)
    if not book.by_hand:
        known = ", ".join(sorted(each.name for each in runnable()))
        raise Refused(f"{name} is run by orders alone; by hand there are {known}.", code="not-by-hand")
    return book


def _nodes(wanted: Wanted, *, by: User) -> list[Node]:
    if wanted.names and not wanted.wanted.is_empty:
        raise Invalid({"nodes": ["Name nodes or choose them by a filter, not both."]})
    if wanted.names:
        nodes = _named(wanted.names, by=by)
    elif wanted.wanted.is_empty:
        raise Invalid({"nodes": ["Name the nodes, or choose them by state, SKU or rack."]})
    else:
        nodes = list(nodes_of(by, wanted.wanted)[: MOST_NODES + 1])
    if not nodes:
        raise Invalid({"nodes": ["No node is like that."]})
    if len(nodes) > MOST_NODES:
        raise Invalid({"nodes": [f"At most {MOST_NODES} nodes at once."]})
    retired = [node.name for node in nodes if node.status == NodeState.RETIRED]
    if retired:
        raise Invalid({"nodes": [f"These are retired: {', '.join(retired[:10])}."]})
    return nodes


def _named(names: Sequence[str], *, by: User) -> list[Node]:
    wanted = list(dict.fromkeys(names))
    if len(wanted) > MOST_NODES:
        raise Invalid({"nodes": [f"At most {MOST_NODES} nodes at once."]})
    found = {node.name: node for node in nodes_of(by, NodeFilter()).filter(name__in=wanted)}
    missing = [name for name in wanted if name not in found]
    if missing:
        shown = say_some([name[:60] for name in missing], most=10)
        raise Invalid({"nodes": [f"There is no node {shown}."]})
    return [found[name] for name in wanted]


def read_waves(told: Mapping[str, Any]) -> Asked | None:
    """From `canary`, `canary_budget`, `percentages` and `budget`; None when none is given. Invalid names the wrong one."""
    given = {name: value for name, value in told.items() if value not in (None, "", [], ())}
    if not set(given) - {"canary_budget"} or given == {"canary": 0}:
        return None
    complaints: dict[str, list[str]] = {}
    budgets: dict[str, waves.Budget] = {}
    for name in ("canary_budget", "budget"):
        try:
            budgets[name] = waves.Budget.read(given.get(name, 0))
        except ValueError as problem:
            complaints[name] = [str(problem)]
    try:
        asked = Asked(canary=given.get("canary", 0), percentages=tuple(given.get("percentages", ())))
    except ValueError as problem:
        complaints["percentages"] = [str(problem)]
    if complaints:
        raise Invalid(complaints)
    return Asked(
        canary=asked.canary,
        percentages=asked.percentages,
        canary_budget=budgets["canary_budget"],
        budget=budgets["budget"],
    )
