"""What do the pages show in the tests? A fleet, requests in every state, a cluster that was built and one under way.

Everything goes through the services, reactions and judges of the house; only the playbooks are not run: their results are
put in by hand, so that a page can be looked at in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.dispatch import deliver_all
from provisioning.fleet.models import Cluster, Node
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.services import request_job
from provisioning.jobs.states import JOB_MACHINE, Ending, JobAction
from provisioning.jobs.waves import Asked
from provisioning.validation.models import Report
from requests_app.catalogue.models import Offering
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import propose_offer
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import comment
from requests_app.triage.services import approve_ticket, ask_back, decline_ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota
from tests.provisioning.builders import end, some_nodes
from tests.provisioning.validation.healthy import evidence, nccl_text, probe, smi_xml

TASKS = (
    ("preflight", "Refuse data that can't be right", False),
    ("node_baseline", "Install the baseline packages", True),
    ("node_baseline", "Keep time sync running", False),
    ("gpu_driver", "Pin the driver", True),
    ("fabric", "Load the fabric's kernel modules", True),
    ("team_access", "Give the team its accounts and keys", True),
    ("exporters", "Restart the exporters", True),
)
UNFIT_NODE = "gpu-002"


@dataclass(frozen=True)
class Scene:
    """Addresses of what was built."""

    blocked: Ticket
    waiting: Ticket
    declined: Ticket
    ready: Ticket
    under_way: Ticket
    cluster: Cluster
    provisioned: Job
    running: Job
    report: Report
    offered: Ticket
    paused: Job


def build(*, team: Team, member: User, lead: User, triager: User) -> Scene:
    """All of it."""
    some_nodes(14)
    a_catalogue()
    a_quota(team, 96)
    a_quota(team, 0, sku="b200-sxm-180g")
    a_quota(team, None, sku="a100-sxm4-80g")
    issue_token(name="nightly launcher", scopes=["requests:read", "requests:write"], by=member)
    ready = _approved(a_cluster_ask(team, member, cluster_name="segmentation"), triager)
    _finish_jobs(ready)
    provisioned = Job.objects.filter(playbook="provision_node").order_by("id")[0]
    JobEvent.objects.bulk_create(_events(provisioned, attempt=1))
    under_way = _approved(a_cluster_ask(team, member, nodes=3, cluster_name="depth"), triager)
    running = Job.objects.filter(status="queued").get()
    _half_way(running)
    blocked, waiting = _unblock(team, member, blocked=True), _unblock(team, lead, blocked=False)
    comment(ticket=blocked, body="We moved two people to other work meanwhile.", by=lead)
    waiting = ask_back(
        ticket=waiting, version=waiting.version, question="Which share, since when?", by=triager
    )
    declined = a_cluster_ask(team, member, nodes=12, cluster_name="everything")
    deliver_all()
    declined = decline_ticket(
        ticket=Ticket.objects.get(pk=declined.pk),
        version=Ticket.objects.get(pk=declined.pk).version,
        reason_code="capacity",
        reason="Twelve nodes at once are not there before March.",
        nearest_yes="Four nodes now, eight on 12 March.",
        by=triager,
    )
    offered = _offered(team, member, triager)
    deliver_all()
    cluster = Cluster.objects.get(name="segmentation")
    report = Report.objects.filter(node__name=UNFIT_NODE).latest("id")
    paused = _paused_run()
    return Scene(
        blocked,
        waiting,
        declined,
        ready,
        under_way,
        cluster,
        provisioned,
        running,
        report,
        offered,
        paused,
    )


PROJECT = {
    "project": "Segmentation",
    "purpose": "A new model.",
    "cluster_sku": "h100-sxm5-80g",
    "nodes": 3,
    "cluster_name": "segment",
    "more_quota": True,
    "quota_sku": "h100-sxm5-80g",
    "gpus": 16,
    "storage": True,
    "size_tb": 20,
    "data": True,
    "dataset": "Images",
    "dashboard": True,
    "headline": "Where is time lost?",
}


def _offered(team: Team, by: User, triager: User) -> Ticket:
    """Five lines asked in one form: four are offered now, the fifth on a day."""
    offering = Offering.objects.select_related("current").get(slug="project-start")
    assert offering.current is not None
    ticket = submit_ticket(offering_version=offering.current, team=team, answers=PROJECT, by=by)
    lines = [
        Proposal(position=1, kind="part", now_qty=2, later_on=now().date() + timedelta(days=12)),
        *(Proposal(position=position, kind="now") for position in (2, 3, 4)),
        Proposal(position=5, kind="later", later_on=now().date() + timedelta(days=20)),
    ]
    propose_offer(ticket=ticket, version=ticket.version, lines=lines, note="Most of it now.", by=triager)
    ticket.refresh_from_db()
    return ticket


def _approved(ticket: Ticket, by: User) -> Ticket:
    deliver_all()
    ticket.refresh_from_db()
    if ticket.status == "submitted":
        approve_ticket(ticket=ticket, version=ticket.version, note="Have fun.", by=by)
    deliver_all()
    return ticket


def _finish_jobs(ticket: Ticket) -> None:
    """Every job of the ticket's order ends well; the node that lost a GPU is found by the judges and replaced."""
    for _ in range(12):
        ticket.refresh_from_db()
        job = Job.objects.filter(status="queued").first()
        if ticket.status == "ready" or job is None:
            break
        for result in HostResult.objects.filter(job=job, attempt=job.targets_attempt).select_related("node"):
            result.data = _told(job.playbook, result.node.name)
            result.tasks_done, result.changed, result.last_task = 35, 16, "Restart the exporters"
            result.save()
        end(job)
        deliver_all()
    assert ticket.status == "ready", f"{ticket.ref} is {ticket.status}"


def _told(playbook: str, node: str) -> dict[str, object]:
    if playbook == "validate_node":
        lost = {"nvidia-smi-xml": smi_xml(drop=(3,), attached=7)} if node == UNFIT_NODE else None
        return {"probe": probe(node, once=lost)}
    if playbook == "validate_cluster":
        runs = [
            evidence("nccl-all-reduce-cluster", nccl_text(355.0, ranks=8, nodes=4), run=run)
            for run in (1, 2, 3)
        ]
        return {"probe": {**probe(node), "evidence": runs}}
    return {"report": {"driver": "570.172.08", "kernel": "5.15.0-122-generic"}}


def _paused_run() -> Job:
    """A sweep over free nodes in waves: the canary is fine, one node of the second wave is not."""
    whole = request_job(
        playbook="validate_node",
        nodes=Node.objects.filter(status="free").order_by("name")[:5],
        variables={},
        purpose="After the new kernel line",
        asked=Asked(canary=1, percentages=(60,)),
        by=None,
    )
    with transaction.atomic():
        end(whole.shards.get())
        second = whole.shards.get(ended_at=None)
        end(second, {second.host_results.earliest("node__name").node.name: Ending.FAILED})
    whole.refresh_from_db()
    assert whole.status == "paused"
    return whole


def _half_way(job: Job) -> None:
    soon = now() + timedelta(hours=1)
    fields = {"attempt": job.attempt + 1, "lease_until": soon, "mark": "m", "claimed_by": "worker-1"}
    job = move(job, JobAction.CLAIM, machine=JOB_MACHINE, extra=fields)
    move(job, JobAction.START, machine=JOB_MACHINE, extra={"started_at": now(), "expected_tasks": 105})
    results = HostResult.objects.filter(job=job).order_by("node__name")
    for result, (ending, done) in zip(
        results, ((Ending.OK, 35), (Ending.RUNNING, 21), (Ending.UNREACHABLE, 4)), strict=False
    ):
        result.ending, result.tasks_done = ending, done
        result.last_task = "Pin the driver"
        result.first_failure = "nobody answers at 10.0.0.3" if ending == Ending.UNREACHABLE else ""
        result.save()
    JobEvent.objects.bulk_create(_events(job, attempt=1)[:24])


def _unblock(team: Team, by: User, *, blocked: bool) -> Ticket:
    offering = Offering.objects.select_related("current").get(slug="unblock")
    assert offering.current is not None
    answers = {
        "headline": "Jobs hang when they read the shared file system",
        "details": "Since noon every read of more than a gigabyte waits for ever.\nWe tried another node.",
        "area": "unknown",
    }
    claim = {"since": now() - timedelta(hours=3), "people": 4, "idle_gpus": 32, "what": "The share is gone."}
    more = {"blocked": claim} if blocked else {}
    return submit_ticket(offering_version=offering.current, team=team, answers=answers, by=by, **more)


def _events(job: Job, *, attempt: int) -> list[JobEvent]:
    """What a playbook says: a play, its tasks, a line a node, one of them with a failure that was made good."""
    nodes = [
        row.node.name for row in HostResult.objects.filter(job=job, attempt=attempt).select_related("node")
    ]
    told: list[dict[str, object]] = [
        {"kind": "start"},
        {"kind": "play", "text": "PLAY [Provision the nodes] ***"},
    ]
    for role, task, changed in TASKS:
        told.append(
            {"kind": "task", "task": task, "text": f"TASK [{role} : {task}] ***", "data": {"role": role}}
        )
        for node in nodes:
            colour, word = ("33", "changed") if changed else ("32", "ok")
            text = f"\x1b[0;{colour}m{word}: [{node}]\x1b[0m"
            told.append({"kind": "ok", "task": task, "host": node, "changed": changed, "text": text})
    told.append(
        {
            "kind": "failed",
            "task": TASKS[-1][1],
            "host": nodes[-1],
            "failed": True,
            "text": f'\x1b[0;31mfatal: [{nodes[-1]}]: FAILED! => {{"msg": "<script>alert(1)</script> {"x" * 300}"}}\x1b[0m',
        }
    )
    return [
        JobEvent(job=job, attempt=attempt, counter=counter, play="Provision the nodes", at=now(), **fields)
        for counter, fields in enumerate(told, 1)
    ]
