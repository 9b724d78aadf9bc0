"""One run of a campaign on one pair of servers: nodes are made, jobs asked for, faults injected, and everything judged at rest."""

from __future__ import annotations

import argparse
import os
import platform
import random
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.chaos.servers import Pair

VARIABLES = os.environ  # noqa: TID251 - prepared before portal.config reads it
SETTLING = 300.0
PATIENCE = 3
"""Paces that a fault waits for some job to get on; a busy machine would see nothing but faults."""
DISK_MIB = 96


def prepare(home: Path, pair: Pair, options: argparse.Namespace) -> None:
    """What the portal, its workers and this process read of their surroundings."""
    for name in [name for name in VARIABLES if name.startswith("PORTAL_")]:
        del VARIABLES[name]
    (home / "var").mkdir(mode=0o700)
    VARIABLES.update(
        {
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "PORTAL_VAR_DIR": str(home / "var"),
            "PORTAL_DATABASE_URL": pair.database_url,
            "PORTAL_BROKER_URL": pair.broker_url,
            "PORTAL_JOB_LEASE_SECONDS": str(int(options.lease)),
            "PORTAL_SSH_KEY_FILE": str(home / "key"),
            "PORTAL_LOG_LEVEL": "WARNING",
            "QM_CHAOS_ANSIBLE": str(home / "ansible"),
        }
    )


def set_up(stage: Any, nodes: int) -> None:
    """Tables, nodes behind real sshds, and their rows."""
    from django.core.management import call_command

    from provisioning.fleet.models import Node, Sku
    from provisioning.simulator import fleet
    from tests.chaos.playbook import STEP
    from tests.chaos.stage import HostState
    from tests.ssh import sshd

    call_command("migrate", verbosity=0)
    stage.key = sshd.make_key(stage.home / "key")
    stage.other_key = sshd.make_key(stage.home / "other-key")
    sku = Sku.objects.create(
        slug="h100-sxm5-80g", name="H100", gpu_model="NVIDIA H100", gpus_per_node=8, memory_mib=81559
    )
    folders = fleet.create(stage.home / "fleet", count=nodes, sku=sku.slug, seed=7)
    for number, folder in enumerate(folders, start=1):
        (folder / "root" / "step.sh").write_text(STEP, encoding="utf-8")
        host = sshd.Sshd(folder=folder, own=stage.home / f"sshd-{number}", address=f"127.0.7.{number}")
        host.start(stage.key)
        stage.hosts.append(HostState(host))
        Node.objects.create(
            status="free",
            name=folder.name,
            address=host.address,
            ansible_port=host.port,
            ansible_user=sshd.account(),
            sku=sku,
            connection="ssh",
            simulated=True,
            node_root=str(folder / "root"),
        )


def make_visitor(stage: Any, evidence: Any) -> Any:
    """An operator with a session and a token."""
    from django.test import Client

    from portal.accounts.access import Scope
    from portal.accounts.models import User
    from portal.accounts.services import issue_token
    from tests.chaos.visitor import Visitor

    operator = User.objects.create_user(
        username="operator", password="", staff_role="operator", is_staff=True
    )
    _, token = issue_token(name="chaos", scopes=[Scope.REQUESTS_READ, Scope.PROVISION_EXECUTE], by=operator)
    client = Client()
    client.force_login(operator)
    return Visitor(
        port=lambda: stage.port, session=client.cookies["sessionid"].value, token=token, evidence=evidence
    )


class Campaign:
    """Jobs are asked for, faults are injected, leases are watched."""

    def __init__(self, stage: Any, visitor: Any, options: argparse.Namespace) -> None:
        from tests.chaos.faults import Chaos
        from tests.chaos.rain import FAULTS
        from tests.chaos.recovery import Recovery

        self.stage, self.options, self.visitor = stage, options, visitor
        self.evidence, self.progress = visitor.evidence, 0
        self.dice = random.Random(options.seed)  # noqa: S311 - a die, no secret
        self.chaos = Chaos(stage, self.dice, options.lease, visitor, self.evidence)
        self.recovery = Recovery(options.lease, stage, self.evidence)
        only = {name.strip() for name in options.only.split(",") if name.strip()}
        self.faults = {name: each for name, each in FAULTS.items() if not only or name in only}

    @property
    def done(self) -> Counter[str]:
        return Counter(fault.name for fault in self.evidence.faults)

    def run(self) -> None:
        begun = time.monotonic()
        next_fault, latest, seen = begun + 8, begun + 30, 0
        while time.monotonic() - begun < self.options.minutes * 60:
            if len(self.evidence.faults) >= self.options.faults:
                break
            self._look()
            at = time.monotonic()
            if at > latest or (at > next_fault and self.progress > seen):
                self._inject()
                next_fault = time.monotonic() + self.dice.uniform(0.4, 1.6) * self.options.pace
                latest, seen = next_fault + PATIENCE * self.options.pace, self.progress
            time.sleep(0.4)

    def settle(self) -> bool:
        """Mend everything and wait for the rest; False when for minutes nothing gets on, and it is not there."""
        from tests.chaos import checks

        self.stage.mend(now=True)
        self._safely(look_at_once)
        deadline, seen = time.monotonic() + SETTLING, self.progress
        while time.monotonic() < deadline:
            self._safely(self._count)
            if self.progress > seen:
                deadline, seen = time.monotonic() + SETTLING, self.progress
            calm = self._safely(self.recovery.look) and self._safely(checks.settled, want=True)
            if calm and not self.stage.postmen:
                return True
            time.sleep(0.5)
        return False

    def _look(self) -> None:
        from provisioning.jobs.models import Job
        from provisioning.jobs.states import ENDED

        self._safely(self.recovery.look)

        def ask() -> None:
            if Job.objects.exclude(status__in=ENDED).count() <= self.options.nodes:
                self._ask_for_a_job()

        self._safely(ask)
        self._safely(self._count)

    def _count(self) -> None:
        """Attempts that began and jobs that ended: with faults alone nothing would be tried."""
        from django.db.models import Sum

        from provisioning.jobs.models import Job
        from provisioning.jobs.states import ENDED

        begun = Job.objects.aggregate(n=Sum("attempt"))["n"] or 0
        self.progress = begun + Job.objects.filter(status__in=ENDED).count()

    def _ask_for_a_job(self) -> None:
        from provisioning.fleet.models import Node
        from provisioning.jobs.services import request_job
        from tests.chaos.evidence import Asked

        nodes = self.dice.sample(
            list(Node.objects.order_by("pk")), self.dice.randint(1, min(3, self.options.nodes))
        )
        fails = [node.name for node in nodes if self.dice.random() < 0.15]
        job = request_job(
            playbook="tiny",
            nodes=nodes,
            variables={"words": fails, "number": self.dice.randint(0, 3)},
            purpose="chaos",
            priority=self.dice.randint(0, 2),
            by=None,
        )
        self.evidence.asked[job.ref] = Asked(tuple(node.name for node in nodes), tuple(fails))
        self.visitor.newest = lambda: job.ref

    def _inject(self) -> None:
        name = self._next_fault()

        def deed() -> None:
            fault = self.faults[name][1](self.chaos, name)
            if fault is not None:
                self.evidence.faults.append(fault)
                print(f"{time.strftime('%H:%M:%S')} {name}", flush=True)  # noqa: T201

        self._safely(deed)

    def _next_fault(self) -> str:
        """By the die, and every other time one that is still missing: each has its turn, however seldom that is."""
        missing = [name for name in self.faults if name not in self.done]
        if missing and self.dice.random() < 0.5:
            return self.dice.choice(missing)
        names = list(self.faults)
        return self.dice.choices(names, [self.faults[each][0] for each in names])[0]

    def _safely(self, deed: Any, *, want: bool = False) -> bool:
        """The campaign's own look at a database that it has just broken may fail."""
        from django.db import DatabaseError, InterfaceError, connection
        from kombu.exceptions import OperationalError

        try:
            said = deed()
        except (DatabaseError, InterfaceError, OSError, OperationalError):
            connection.close()
            return False
        return bool(said) if want else True


def look_at_once() -> None:
    """Nodes that were away are looked at ever more seldom; now that all are well that would only be waiting."""
    from django.db.models.functions import Now

    from provisioning.jobs.draining import draining

    draining().update(probe_after=Now())


def perform(home: Path, pair: Pair, options: argparse.Namespace) -> dict[str, Any]:
    """Everything of one run; its figures."""
    import django

    django.setup()
    from tests.chaos import playbook, worker_app
    from tests.chaos.evidence import Evidence
    from tests.chaos.stage import Mender, Stage, at_work, on

    assert worker_app.app
    with on(Stage(home=home, pair=pair, worker_count=options.workers)) as stage:
        playbook.make(home / "ansible")
        stage.start_servers()
        set_up(stage, options.nodes)
        stage.limit_disk(DISK_MIB)
        visitor = make_visitor(stage, Evidence())
        stage.start_portal()
        campaign = Campaign(stage, visitor, options)
        with at_work(Mender(stage), visitor):
            begun = time.monotonic()
            campaign.run()
            injected = time.monotonic() - begun
            at_rest = campaign.settle()
            time.sleep(2)
        return figures(campaign, injected, at_rest=at_rest)


def figures(campaign: Campaign, injected: float, *, at_rest: bool) -> dict[str, Any]:
    """What was done and found, as plain numbers and words."""
    from provisioning.jobs.models import Job, JobEvent, NodeLease
    from tests.chaos import checks, leftovers, message_faults, visitor

    stage, options = campaign.stage, campaign.options
    found = checks.judge({state.name: checks.read(state.log) for state in stage.hosts}, campaign.evidence)
    found.left += leftovers.all_of(stage.home, stage.jobs_dir) if at_rest else ["it did not come to rest"]
    found.wrong += visitor.unexplained(campaign.visitor.answers, campaign.evidence)
    found.wrong += campaign.visitor.disagreements(dict(Job.objects.values_list("pk", "status")))
    campaign.recovery.of_web(campaign.visitor.answers)
    found.slow += campaign.recovery.slow()
    return {
        "servers": stage.pair.says,
        "seed": options.seed,
        "lease": options.lease,
        "pace": options.pace,
        "seconds": injected,
        "load": os.getloadavg()[2],
        "versions": versions(),
        "faults": campaign.done,
        "recovery": campaign.recovery.worst,
        "states": Counter(Job.objects.values_list("status", flat=True)),
        "messages": message_faults.handled(stage.home / message_faults.FILE),
        "figures": {
            "jobs": Job.objects.count(),
            "attempts": sum(Job.objects.values_list("attempt", flat=True)),
            "children taken over": campaign.recovery.taken,
            "nodes that drained": NodeLease.objects.filter(draining_since__isnull=False).count(),
            "events": JobEvent.objects.count(),
            "questions to the web": len(campaign.visitor.answers),
        },
        "findings": vars(found),
    }


def versions() -> str:
    names = ("ansible-core", "ansible-runner", "celery", "django")
    return f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, " + ", ".join(
        f"{name} {metadata.version(name)}" for name in names
    )
