"""What can happen to a node and to a cluster? Two pure tables.

A node that is out of the pool has at least one open hold; holds are opened and closed by their owners, and a node is
in service only when none is open. `draining` covers everything between a team and the pool: drain, wipe, re-validation.
"""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class NodeState(StrEnum):
    """Where a node is on its way between the store room and a team."""

    REGISTERED = "registered"
    FREE = "free"
    RESERVED = "reserved"
    IN_USE = "in_use"
    DRAINING = "draining"
    QUARANTINED = "quarantined"
    REPAIRING = "repairing"
    RETIRED = "retired"


class NodeAction(StrEnum):
    """What can be done to a node."""

    ADMIT = "admit"
    RESERVE = "reserve"
    UNRESERVE = "unreserve"
    HAND_OVER = "hand over"
    DRAIN = "drain"
    GIVE_BACK = "give back"
    QUARANTINE = "quarantine"
    REPAIR = "repair"
    END_REPAIR = "end repair"
    RECHECK = "recheck"
    RETIRE = "retire"
    REINSTATE = "reinstate"


_N, _A = NodeState, NodeAction

NODE: Machine[NodeState, NodeAction] = Machine(
    "node",
    NodeState.REGISTERED,
    {
        (_N.REGISTERED, _A.ADMIT): _N.FREE,
        (_N.REGISTERED, _A.QUARANTINE): _N.QUARANTINED,
        (_N.REGISTERED, _A.RETIRE): _N.RETIRED,
        (_N.FREE, _A.RESERVE): _N.RESERVED,
        (_N.FREE, _A.QUARANTINE): _N.QUARANTINED,
        (_N.FREE, _A.RETIRE): _N.RETIRED,
        (_N.RESERVED, _A.UNRESERVE): _N.FREE,
        (_N.RESERVED, _A.HAND_OVER): _N.IN_USE,
        (_N.RESERVED, _A.DRAIN): _N.DRAINING,
        (_N.RESERVED, _A.QUARANTINE): _N.QUARANTINED,
        (_N.IN_USE, _A.DRAIN): _N.DRAINING,
        (_N.DRAINING, _A.GIVE_BACK): _N.FREE,
        (_N.DRAINING, _A.QUARANTINE): _N.QUARANTINED,
        (_N.QUARANTINED, _A.REPAIR): _N.REPAIRING,
        (_N.QUARANTINED, _A.RECHECK): _N.DRAINING,
        (_N.QUARANTINED, _A.RETIRE): _N.RETIRED,
        (_N.REPAIRING, _A.END_REPAIR): _N.QUARANTINED,
        (_N.REPAIRING, _A.RETIRE): _N.RETIRED,
        (_N.RETIRED, _A.REINSTATE): _N.REGISTERED,
    },
)


class ClusterState(StrEnum):
    """Where a cluster is in its life."""

    BUILDING = "building"
    READY = "ready"
    RELEASING = "releasing"
    RELEASED = "released"
    FAILED = "failed"


class ClusterAction(StrEnum):
    """What can be done to a cluster."""

    DELIVER = "deliver"
    FAIL = "fail"
    RELEASE = "release"
    END = "end"


_C, _D = ClusterState, ClusterAction

CLUSTER: Machine[ClusterState, ClusterAction] = Machine(
    "cluster",
    ClusterState.BUILDING,
    {
        (_C.BUILDING, _D.DELIVER): _C.READY,
        (_C.BUILDING, _D.FAIL): _C.FAILED,
        (_C.READY, _D.RELEASE): _C.RELEASING,
        (_C.RELEASING, _D.END): _C.RELEASED,
    },
)

LIVING = (ClusterState.BUILDING, ClusterState.READY, ClusterState.RELEASING)
OUT_OF_SERVICE = (NodeState.REGISTERED, NodeState.QUARANTINED, NodeState.REPAIRING)
