"""Which nodes and clusters does a list show, to whom, and from where on? Shared by pages and API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.refs import parse_ref
from provisioning.fleet.models import Cluster, Node, NodeQuerySet
from provisioning.fleet.queries import with_health, with_nodes
from provisioning.fleet.states import OUT_OF_SERVICE, ClusterState, NodeState

PAGE = 50
MOST_ON_MAP = 1000
OUT = "out"
LIVING = "living"
_LONGEST_SEARCH = 100


@dataclass(frozen=True, kw_only=True)
class NodeFilter:
    """What a list of nodes is narrowed to; empty means everything. `out` are the states that are out of service."""

    state: str = ""
    sku: str = ""
    rack: str = ""
    site: str = ""
    q: str = ""

    @classmethod
    def read(cls, told: Mapping[str, str]) -> NodeFilter:
        """From query parameters; Invalid for a state that nodes don't have."""
        state = told.get("state", "")
        if state and state != OUT and state not in set(NodeState):
            known = ", ".join([*NodeState, OUT])
            raise Invalid({"state": [f"There is no such state of a node. Known: {known}."]})
        return cls(
            state=state,
            sku=told.get("sku", "")[:_LONGEST_SEARCH],
            rack=told.get("rack", "")[:_LONGEST_SEARCH],
            site=told.get("site", "")[:_LONGEST_SEARCH],
            q=told.get("q", "").strip().replace("\0", "")[:_LONGEST_SEARCH],
        )

    @property
    def is_empty(self) -> bool:
        """True when nothing is narrowed."""
        return not (self.state or self.sku or self.rack or self.site or self.q)


def nodes_of(user: User | AnonymousUser, wanted: NodeFilter) -> NodeQuerySet:
    """Nodes this person may see, narrowed, by name, with SKU, rack and `on_hold`."""
    nodes = Node.objects.visible_to(user)
    if wanted.state == OUT:
        nodes = nodes.filter(status__in=OUT_OF_SERVICE)
    elif wanted.state:
        nodes = nodes.filter(status=wanted.state)
    if wanted.sku:
        nodes = nodes.filter(sku__slug=wanted.sku)
    if wanted.rack:
        nodes = nodes.filter(rack__name=wanted.rack)
    if wanted.site:
        nodes = nodes.filter(site=wanted.site)
    if wanted.q:
        nodes = nodes.filter(Q(name__icontains=wanted.q) | Q(address__startswith=wanted.q))
    return with_health(nodes).order_by("name")


def node_by_name(user: User | AnonymousUser, name: str) -> Node:
    """One node; NotFound when there is none that this person may see."""
    node = with_health(Node.objects.visible_to(user)).filter(name=name[:253].replace("\0", "")).first()
    if node is None:
        raise NotFound("There is no such node.")
    return node


def sites_of(user: User | AnonymousUser) -> list[str]:
    """Sites of the nodes this person may see, by name; the one without a name is left out."""
    named = Node.objects.visible_to(user).exclude(site="").order_by("site")
    return list(named.values_list("site", flat=True).distinct())


def counts_by_state(user: User | AnonymousUser) -> dict[str, int]:
    """How many nodes this person may see in each state."""
    rows = Node.objects.visible_to(user).order_by().values("status").annotate(nodes=Count("pk"))
    return {row["status"]: row["nodes"] for row in rows}


def clusters_of(
    user: User | AnonymousUser, *, state: str = "", team: str = "", sku: str = ""
) -> QuerySet[Cluster]:
    """Clusters this person may see, newest first, with what `held_by` reads. `living` are those not over."""
    if state and state != LIVING and state not in set(ClusterState):
        known = ", ".join([*ClusterState, LIVING])
        raise Invalid({"state": [f"There is no such state of a cluster. Known: {known}."]})
    clusters = Cluster.objects.visible_to(user)
    if state == LIVING:
        clusters = clusters.living()
    elif state:
        clusters = clusters.filter(status=state)
    if team:
        clusters = clusters.filter(team__slug=team)
    if sku:
        clusters = clusters.filter(sku__slug=sku)
    return with_nodes(clusters).order_by("-id")


def cluster_by_ref(user: User | AnonymousUser, ref: str) -> Cluster:
    """One cluster with its nodes; NotFound when there is none that this person may see."""
    cluster = with_nodes(Cluster.objects.visible_to(user)).filter(pk=parse_ref(ref, "C")).first()
    if cluster is None:
        raise NotFound("There is no such cluster.")
    return cluster
