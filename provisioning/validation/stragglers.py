"""Which nodes are slower than their peers, is it still so when measured again, and is it really the node?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from provisioning.validation.baselines import Reference
from provisioning.validation.metrics import METRICS
from provisioning.validation.policy import Policy
from provisioning.validation.robust import log_ratio, share_of
from provisioning.validation.scores import Score


class Screened(StrEnum):
    """What the screen says of one score. `suspect` is to be measured again; `gross` is too far for a passing dip."""

    FINE = "fine"
    SUSPECT = "suspect"
    GROSS = "gross"


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """A score below its reference: measure this metric again before anything is said of the node."""

    node: str
    metric: str
    device: str
    value: float
    reference: Reference
    deficit: float
    below_pass_line: bool
    screened: Screened

    @property
    def words(self) -> str:
        """What people read: 4.2 % below what its peers reach."""
        against = {
            "fleet": "the fleet's baseline",
            "peers": "its peers",
            "sku": "the SKU's provisional figure",
        }
        unit = METRICS[self.metric].unit
        told = f"{METRICS[self.metric].title} {self.value:.4g} {unit} on {self.device}"
        told += f" is {self.deficit:.1%} below {against[self.reference.origin]} ({self.reference.value:.4g} {unit})"
        if self.below_pass_line:
            told += f" and under the published limit of {self.reference.pass_line:g} {unit}"
        return told


def breaches(value: float, against: Reference) -> bool:
    """Slower than the reference by more than its cut, or under the published limit."""
    if against.pass_line is not None and value < against.pass_line:
        return True
    return value < against.value * (1 - against.cut)


def screen(node: str, score: Score, against: Reference, *, policy: Policy) -> Suspicion | None:
    """Cheap and permissive: one healthy node in eight is suspected in a sweep of six metrics; confirming clears it."""
    if not breaches(score.value, against):
        return None
    deficit = share_of(log_ratio(score.value, against.value))
    return Suspicion(
        node=node,
        metric=score.metric,
        device=score.device,
        value=score.value,
        reference=against,
        deficit=deficit,
        below_pass_line=against.pass_line is not None and score.value < against.pass_line,
        screened=Screened.GROSS if deficit >= policy.gross_cut else Screened.SUSPECT,
    )


class Confirmed(StrEnum):
    """What the reruns of one suspicion say."""

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    SHARED_CAUSE = "shared_cause"
    RERUN = "rerun"  # not decided yet: measure once more


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """The end of a suspicion, or that it needs another rerun. `values` are the scores of the reruns."""

    suspicion: Suspicion
    state: Confirmed
    values: tuple[float | None, ...]
    control_values: tuple[float, ...]
    words: str


def confirm(
    suspicion: Suspicion, reruns: Sequence[float | None], *, control: Sequence[float] = (), policy: Policy
) -> Confirmation:
    """Two of three reruns decide, and two that agree end it early. A rerun without a score (None) decides nothing.

    `control` are scores of a node known to be good, measured in the same window: where it breaches too, the cause is
    shared and no node is blamed.
    """
    against = suspicion.reference
    measured = [value for value in reruns if value is not None][: policy.confirm_reruns]
    low = sum(1 for value in measured if breaches(value, against))
    well = len(measured) - low
    clearing = policy.confirm_reruns - policy.confirm_breaches + 1
    if low >= policy.confirm_breaches:
        shared = any(breaches(value, against) for value in control)
        state = Confirmed.SHARED_CAUSE if shared else Confirmed.CONFIRMED
    else:
        state = Confirmed.CLEARED if well >= clearing else Confirmed.RERUN
    return Confirmation(
        suspicion=suspicion,
        state=state,
        values=tuple(reruns),
        control_values=tuple(control),
        words=_words(suspicion, state, low, len(measured)),
    )


def _words(suspicion: Suspicion, state: Confirmed, low: int, count: int) -> str:
    told = {
        Confirmed.CONFIRMED: f"confirmed, low in {low} of {count} reruns",
        Confirmed.CLEARED: f"not so when measured again ({low} of {count} reruns low)",
        Confirmed.SHARED_CAUSE: "a node known to be good is as slow: a shared cause, not this node",
        Confirmed.RERUN: f"to be measured again ({low} of {count} reruns low so far)",
    }[state]
    return f"{suspicion.words}: {told}"


@dataclass(frozen=True, kw_only=True)
class SharedCause:
    """Many nodes of one cohort fail one check at once: the cohort or the check is the suspect, never the nodes.

    `compared_within`: they are slow together and were then compared among themselves, so the cause is a note. Otherwise
    the check itself is held: its failures blame no node, and a person decides.
    """

    check_id: str
    cohort: str
    nodes: tuple[str, ...]
    cohort_size: int
    compared_within: bool

    @property
    def words(self) -> str:
        return (
            f"{self.check_id} {'is slow' if self.compared_within else 'fails'} on {len(self.nodes)} of {self.cohort_size} nodes of {self.cohort}: "
            "a shared cause is likelier than that many bad nodes"
        )


def shared_causes(
    failing: Mapping[str, Iterable[str]],
    cohorts: Mapping[str, Iterable[str]],
    *,
    compared_within: bool = False,
    policy: Policy,
) -> tuple[SharedCause, ...]:
    """`failing`: check to its failing nodes; `cohorts`: name (version, rack) to its nodes. In a fixed order."""
    found: list[SharedCause] = []
    for check_id, failed in sorted((check, frozenset(nodes)) for check, nodes in failing.items()):
        for cohort, members in sorted((name, frozenset(nodes)) for name, nodes in cohorts.items()):
            hit = failed & members
            if len(hit) >= policy.shared_nodes and len(hit) >= policy.shared_share * len(members):
                found.append(
                    SharedCause(
                        check_id=check_id,
                        cohort=cohort,
                        nodes=tuple(sorted(hit)),
                        cohort_size=len(members),
                        compared_within=compared_within,
                    )
                )
    return tuple(found)
