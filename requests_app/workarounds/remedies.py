"""How does a setting come on a cluster's nodes and off again? By an order each, carried out by a playbook."""

from __future__ import annotations

from portal.accounts.models import User
from portal.kernel.errors import Conflict
from provisioning import interface
from provisioning.contracts import ClusterView, OrderKind, OrderSpec
from requests_app.workarounds.borrowing import GONE, keep, own_cluster
from requests_app.workarounds.kinds import Kind
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.states import IN_TROUBLE, OPEN


def apply(workaround: Workaround, *, by: User | None) -> None:
    """Place the order that applies it. Conflict while another workaround has set the same remedy on that cluster."""
    cluster = own_cluster(workaround, workaround.params["cluster"])
    _alone(workaround, cluster)
    _order(workaround, cluster, OrderKind.APPLY, by)


def _alone(workaround: Workaround, cluster: ClusterView) -> None:
    """A remedy's settings are exact: a second one would take the first away."""
    others = Workaround.objects.filter(
        kind=Kind.PLAYBOOK,
        status__in=(*OPEN, *IN_TROUBLE),
        params__cluster=cluster.ref,
        params__remedy=workaround.params["remedy"],
    )
    other = others.exclude(pk=workaround.pk).first()
    if other is not None:
        raise Conflict(
            f"{other.ref} has set this on {cluster.ref} already; end it first, or renew it.",
            code="remedy-in-use",
            data={"workaround": other.ref},
        )


def revert(workaround: Workaround, *, by: User | None) -> bool:
    """Place the order that takes it off; True when the cluster, and all on its nodes, is gone."""
    cluster = interface.cluster_view(workaround.params["cluster"])
    if cluster.status in GONE:
        return True
    _order(workaround, cluster, OrderKind.REVERT, by)
    return False


def _order(workaround: Workaround, cluster: ClusterView, kind: OrderKind, by: User | None) -> None:
    settings = workaround.params["settings"]
    spec = OrderSpec(
        kind=kind,
        team=cluster.team,
        sku=cluster.sku,
        nodes=len(cluster.nodes),
        cluster_ref=cluster.ref,
        remedy=workaround.params["remedy"],
        settings=tuple(sorted((str(name), str(value)) for name, value in settings.items())),
    )
    order = interface.place_order(spec, requested_for=workaround.ref, by=by)
    keep(workaround, order_ref=order.ref, cluster_ref=cluster.ref)
