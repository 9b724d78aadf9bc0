"""What can happen to an order? One pure table for what builds, what gives back, and what is put on nodes for a while."""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class OrderState(StrEnum):
    """Where an order is."""

    PLACED = "placed"
    RESERVED = "reserved"
    BUILDING = "building"
    JOINING = "joining"
    VALIDATING = "validating"
    CONFIRMING = "confirming"
    MEASURING = "measuring"
    READY = "ready"
    DRAINING = "draining"
    WIPING = "wiping"
    REVALIDATING = "revalidating"
    RELEASED = "released"
    APPLYING = "applying"
    REVERTING = "reverting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class OrderAction(StrEnum):
    """What can be done to an order; the names of work are the names of the steps."""

    RESERVE = "reserve"
    BUILD = "build"
    JOIN = "join"
    VALIDATE = "validate"
    CONFIRM = "confirm"
    MEASURE = "measure"
    DELIVER = "deliver"
    DRAIN = "drain"
    WIPE = "wipe"
    REVALIDATE = "revalidate"
    GIVE_BACK = "give back"
    APPLY = "apply"
    REVERT = "revert"
    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"


_S, _A = OrderState, OrderAction

# A step that leads to itself is a second try, or the same work for a node that came in as a replacement.
ORDER: Machine[OrderState, OrderAction] = Machine(
    "order",
    OrderState.PLACED,
    {
        (_S.PLACED, _A.RESERVE): _S.RESERVED,
        (_S.PLACED, _A.DRAIN): _S.DRAINING,
        (_S.PLACED, _A.WIPE): _S.WIPING,
        (_S.PLACED, _A.CANCEL): _S.CANCELLED,
        (_S.RESERVED, _A.BUILD): _S.BUILDING,
        (_S.RESERVED, _A.CANCEL): _S.CANCELLED,
        (_S.BUILDING, _A.BUILD): _S.BUILDING,
        (_S.BUILDING, _A.JOIN): _S.JOINING,
        (_S.BUILDING, _A.FAIL): _S.FAILED,
        (_S.BUILDING, _A.CANCEL): _S.CANCELLED,
        (_S.JOINING, _A.BUILD): _S.BUILDING,
        (_S.JOINING, _A.JOIN): _S.JOINING,
        (_S.JOINING, _A.VALIDATE): _S.VALIDATING,
        (_S.JOINING, _A.MEASURE): _S.MEASURING,
        (_S.JOINING, _A.DELIVER): _S.READY,
        (_S.JOINING, _A.FAIL): _S.FAILED,
        (_S.JOINING, _A.CANCEL): _S.CANCELLED,
        (_S.VALIDATING, _A.BUILD): _S.BUILDING,
        (_S.VALIDATING, _A.VALIDATE): _S.VALIDATING,
        (_S.VALIDATING, _A.CONFIRM): _S.CONFIRMING,
        (_S.VALIDATING, _A.MEASURE): _S.MEASURING,
        (_S.VALIDATING, _A.DELIVER): _S.READY,
        (_S.VALIDATING, _A.FAIL): _S.FAILED,
        (_S.VALIDATING, _A.CANCEL): _S.CANCELLED,
        (_S.CONFIRMING, _A.BUILD): _S.BUILDING,
        (_S.CONFIRMING, _A.VALIDATE): _S.VALIDATING,
        (_S.CONFIRMING, _A.CONFIRM): _S.CONFIRMING,
        (_S.CONFIRMING, _A.MEASURE): _S.MEASURING,
        (_S.CONFIRMING, _A.DELIVER): _S.READY,
        (_S.CONFIRMING, _A.FAIL): _S.FAILED,
        (_S.CONFIRMING, _A.CANCEL): _S.CANCELLED,
        (_S.MEASURING, _A.MEASURE): _S.MEASURING,
        (_S.MEASURING, _A.BUILD): _S.BUILDING,
        (_S.MEASURING, _A.DELIVER): _S.READY,
        (_S.MEASURING, _A.FAIL): _S.FAILED,
        (_S.MEASURING, _A.CANCEL): _S.CANCELLED,
        (_S.DRAINING, _A.DRAIN): _S.DRAINING,
        (_S.DRAINING, _A.WIPE): _S.WIPING,
        (_S.DRAINING, _A.JOIN): _S.JOINING,
        (_S.DRAINING, _A.GIVE_BACK): _S.RELEASED,
        (_S.WIPING, _A.WIPE): _S.WIPING,
        (_S.WIPING, _A.REVALIDATE): _S.REVALIDATING,
        (_S.WIPING, _A.JOIN): _S.JOINING,
        (_S.WIPING, _A.GIVE_BACK): _S.RELEASED,
        (_S.REVALIDATING, _A.REVALIDATE): _S.REVALIDATING,
        (_S.REVALIDATING, _A.JOIN): _S.JOINING,
        (_S.REVALIDATING, _A.GIVE_BACK): _S.RELEASED,
        (_S.PLACED, _A.APPLY): _S.APPLYING,
        (_S.PLACED, _A.REVERT): _S.REVERTING,
        (_S.PLACED, _A.FINISH): _S.DONE,
        (_S.PLACED, _A.FAIL): _S.FAILED,
        (_S.APPLYING, _A.APPLY): _S.APPLYING,
        (_S.APPLYING, _A.FINISH): _S.DONE,
        (_S.APPLYING, _A.FAIL): _S.FAILED,
        (_S.APPLYING, _A.CANCEL): _S.CANCELLED,
        (_S.REVERTING, _A.REVERT): _S.REVERTING,
        (_S.REVERTING, _A.FINISH): _S.DONE,
        (_S.REVERTING, _A.FAIL): _S.FAILED,
        (_S.REVERTING, _A.CANCEL): _S.CANCELLED,
    },
)

FINAL = (OrderState.READY, OrderState.RELEASED, OrderState.DONE, OrderState.FAILED, OrderState.CANCELLED)
