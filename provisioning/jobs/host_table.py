"""Which nodes of a job does its page show? Some of them by name: all, those of one ending, or what is not ok; and how many of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Sum, When
from django.db.models.functions import Coalesce

from portal.kernel.errors import Invalid
from provisioning.jobs import whole_view
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.shard_results import current
from provisioning.jobs.states import ENDED, FINAL_ENDINGS, Ending
from provisioning.jobs.whole_view import HostView

PAGE = 100
"""Nodes on one page: it is drawn anew every other second while the job runs."""
FEW = 10
"""So many nodes are read at a glance. Of more those that are not ok come first when the job has ended."""
ALL, NOT_OK = "all", "not_ok"
CHOICES = (*(str(ending) for ending in Ending), NOT_OK, ALL)
_LONGEST_NAME = 253
BAD = FINAL_ENDINGS - {Ending.OK}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Of which ending, or `all`, or `not_ok`, and after which name. Both empty: from the first one on."""

    ending: str = ""
    after: str = ""

    @classmethod
    def read(cls, told: Mapping[str, str]) -> Wanted:
        """From query parameters; Invalid for an ending that there is not."""
        ending = told.get("ending", "")
        if ending and ending not in CHOICES:
            raise Invalid({"ending": [f"There is no such ending. Known: {', '.join(CHOICES)}."]})
        return cls(ending=ending, after=told.get("nodes_after", "").replace("\0", "")[:_LONGEST_NAME])

    def query(self, after: str | None = None) -> str:
        """As query parameters, of this page or of the one after that name."""
        told = {"ending": self.ending, "nodes_after": self.after if after is None else after}
        return urlencode({name: value for name, value in told.items() if value})


@dataclass(frozen=True, kw_only=True)
class HostTable:
    """One page. `counts` are all nodes by ending, `tasks_done` those of all of them; `next` is empty on the last page."""

    wanted: Wanted
    rows: Sequence[HostView]
    next: str
    counts: Mapping[Ending, int]
    tasks_done: int

    @property
    def first_url(self) -> str:
        """Back to the first page; "" on it."""
        return f"?{self.wanted.query('')}#nodes" if self.wanted.after else ""

    @property
    def next_url(self) -> str:
        """On to the next page; "" on the last."""
        return f"?{self.wanted.query(self.next)}#nodes" if self.next else ""

    @property
    def is_of_all(self) -> bool:
        """Nothing was left out but what is on other pages."""
        return self.wanted.ending in {"", ALL}

    @property
    def has_tabs(self) -> bool:
        """There are enough nodes to choose from."""
        return self.total > FEW

    @property
    def total(self) -> int:
        """Nodes of the job."""
        return sum(self.counts.values())

    @property
    def bad(self) -> int:
        """Nodes that ended, and not well."""
        return sum(self.counts.get(ending, 0) for ending in BAD)

    @property
    def not_ok(self) -> int:
        """Nodes that a relaunch would run on."""
        return self.total - self.counts.get(Ending.OK, 0)


def table(job: Job, wanted: Wanted, *, trouble_first: bool = False) -> HostTable:
    """A page of the nodes of the attempt that counts, or of a whole as its shards have them now. Five queries at most.

    `trouble_first`: where nothing was chosen, of many nodes of an ended job those that are not ok.
    """
    counted = _now(job, _of(job)).order_by().values("now").annotate(nodes=Count("pk"), tasks=Sum("tasks_now"))
    found = {Ending(row["now"]): (row["nodes"], row["tasks"]) for row in counted}
    counts = {ending: found[ending][0] for ending in Ending if ending in found}
    if trouble_first and job.is_ended and not wanted.ending and _some_are_not_ok(counts):
        wanted = replace(wanted, ending=NOT_OK)
    rows = _now(job, whole_view.results(_which(job))).filter(node__name__gt=wanted.after)
    if wanted.ending == NOT_OK:
        rows = rows.exclude(now=Ending.OK)
    elif wanted.ending not in {"", ALL}:
        rows = rows.filter(now=wanted.ending)
    page = list(rows[: PAGE + 1])
    shown = page[:PAGE]
    told = whole_view.last_shards(job, [row.node_id for row in shown]) if job.is_whole else {}
    return HostTable(
        wanted=wanted,
        rows=[whole_view.view(row, told.get(row.node_id)) for row in shown],
        next=shown[-1].node.name if len(page) > PAGE else "",
        counts=counts,
        tasks_done=sum(tasks for _, tasks in found.values()),
    )


def _some_are_not_ok(counts: Mapping[Ending, int]) -> bool:
    total, ok = sum(counts.values()), counts.get(Ending.OK, 0)
    return total > FEW and 0 < ok < total


def count(job: Job) -> int:
    """Nodes of a job."""
    return _of(job).count()


def _which(job: Job) -> Q:
    return Q(job=job, attempt=1 if job.is_whole else job.targets_attempt)


def _of(job: Job) -> QuerySet[HostResult]:
    return HostResult.objects.filter(_which(job))


def _now(job: Job, rows: QuerySet[HostResult]) -> QuerySet[Any]:
    """With `now`, the ending, and `tasks_now`: a node of a whole that has not come home is as its open shard has it."""
    if not job.is_whole:
        return rows.annotate(now=F("ending"), tasks_now=F("tasks_done"))
    shards = list(job.shards.exclude(status__in=ENDED).values_list("pk", flat=True))
    there = HostResult.objects.filter(current(), job__in=shards, node=OuterRef("node")).order_by("-job_id")

    def live(name: str) -> Case:
        newest = Coalesce(Subquery(there.values(name)[:1]), F(name))
        return Case(When(ending=Ending.WAITING, then=newest), default=F(name))

    return rows.annotate(now=live("ending"), tasks_now=live("tasks_done"))
