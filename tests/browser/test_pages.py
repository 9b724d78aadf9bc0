"""Every page, in both themes, wide and narrow: is it sound for eyes, keyboard, policy and privacy?

The pictures are left in var/screenshots for people to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs.models import Job
from provisioning.jobs.services import request_job
from provisioning.jobs.sweeper import ring_unheard
from provisioning.workers.models import Worker
from provisioning.workers.services import beat
from provisioning.workers.sizing import Machine
from tests.browser import bargain
from tests.browser.bargain import Bargain
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.browser.scene import UNFIT_NODE, Scene, build
from tests.provisioning.builders import some_nodes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "var" / "screenshots"
SOUNDNESS = (Path(__file__).parent / "soundness.js").read_text(encoding="utf-8")


@pytest.fixture
def scene(team: Team, member: User, lead: User, triager: User) -> Scene:
    return build(team=team, member=member, lead=lead, triager=triager)


@pytest.fixture
def deal(scene: Scene, team: Team, member: User, lead: User, triager: User) -> Bargain:
    return bargain.build(team=team, member=member, lead=lead, triager=triager, talked=scene.blocked)


def deals_of(who: str, deal: Bargain) -> dict[str, str]:
    """The same for what is bargained, worked around and talked about."""
    member = {
        "ticket-offered": f"/tickets/{deal.offered.ref}/",
        "ticket-promised": f"/tickets/{deal.promised.ref}/",
        "ticket-workaround": f"/tickets/{deal.relieved.ref}/",
        "ticket-talked": f"/tickets/{deal.talked.ref}/",
        "ticket-merged": f"/tickets/{deal.merged.ref}/",
        "rank": f"/tickets/{deal.talked.ref}/rank/",
        "blocked": f"/tickets/{deal.relieved.ref}/blocked/",
        "inbox": "/inbox/",
        "notifications": "/account/notifications/",
        "search": "/search/?q=shared",
        "workarounds": "/debt/",
        "project": f"/debt/{deal.project.ref}/",
    }
    triager = {
        "desk-pane": f"/desk/?open={deal.talked.ref}",
        "ticket-to-bargain": f"/tickets/{deal.offered.ref}/",
        "ticket-with-notes": f"/tickets/{deal.talked.ref}/",
        "debt": "/debt/",
        "project-staff": f"/debt/{deal.project.ref}/",
        "workaround": f"/workarounds/{deal.workaround.ref}/",
        "offer-form": f"/tickets/{deal.offered.ref}/offers/new",
        "workaround-grant": f"/tickets/{deal.offered.ref}/workarounds/",
        "promises": "/promises/",
        "policy": "/desk/policy/",
        "owed": "/owed/",
        "rota": "/desk/rota/",
        "replies": "/desk/replies/",
        "bulk": "/desk/bulk/",
        "bulk-run": f"/desk/bulk/{deal.bulk}/",
        "clocks": "/desk/clocks/",
        "calendars": "/desk/clocks/calendars/",
        "outcomes": "/desk/outcomes/",
        "search-staff": "/search/?q=segmentation",
    }
    admin = {"mail-room": "/mail-room/", "credentials": "/credentials/", "policy-admin": "/desk/policy/"}
    return {"member": member, "triager": triager, "admin_user": admin}[who]


def pages_of(who: str, scene: Scene) -> dict[str, str]:
    """Name of the picture -> address, by who looks."""
    member = {
        "catalogue": "/catalogue/",
        "request-form": "/catalogue/gpu-cluster/",
        "my-requests": "/tickets/",
        "ticket-ready": f"/tickets/{scene.ready.ref}/",
        "ticket-under-way": f"/tickets/{scene.under_way.ref}/",
        "ticket-declined": f"/tickets/{scene.declined.ref}/",
        "ticket-waiting": f"/tickets/{scene.waiting.ref}/",
        "drafts": "/tickets/drafts/",
        "clusters": "/clusters/",
        "cluster": f"/clusters/{scene.cluster.ref}/",
        "quotas": "/quotas/",
    }
    people = {
        "profile": "/account/",
        "tokens": "/account/tokens/",
        "password": "/account/password/",
        "teams": "/teams/",
        "team": "/teams/vision/",
        "looks": "/looks/",
    }
    triager = {
        "desk": "/desk/",
        "desk-blocked": "/desk/?view=blocked",
        "desk-request": f"/desk/?view=all&open={scene.blocked.ref}",
        "desk-filters": "/desk/?view=queue&team=vision",
        "desk-rota": "/desk/rota/",
        "desk-replies": "/desk/replies/",
        "desk-bulk": "/desk/bulk/",
        "desk-keys": "/desk/keys/",
        "search": "/search/?q=shared",
        "ticket-to-decide": f"/tickets/{scene.blocked.ref}/",
        "all-quotas": "/quotas/",
    }
    operator = {
        "nodes": "/nodes/",
        "racks": "/nodes/?view=map",
        "node": f"/nodes/{UNFIT_NODE}/",
        "node-report": f"/nodes/{UNFIT_NODE}/reports/newest/",
        "node-report-fit": "/nodes/gpu-003/reports/newest/?metric=mem_bw",
        "node-reports": f"/nodes/{UNFIT_NODE}/reports/",
        "evidence": f"/nodes/{UNFIT_NODE}/reports/{scene.report.pk}/evidence/nvidia-smi-xml/",
        "jobs": "/jobs/",
        "job": f"/jobs/{scene.provisioned.ref}/",
        "job-running": f"/jobs/{scene.running.ref}/",
        "job-force": f"/jobs/{scene.running.ref}/force",
        "workers": "/workers/",
        "capacity": "/workers/capacity/",
        "job-paused": f"/jobs/{scene.paused.ref}/",
        "job-part": f"/jobs/{scene.paused.shards.earliest('shard').ref}/",
        "job-by-hand": "/jobs/run/",
        "orders": "/orders/",
        "order": f"/orders/{scene.under_way.lines.get().order_ref}/",
    }
    return {"member": member, "lead": people, "triager": triager, "operator": operator}[who]


@pytest.mark.parametrize("who", ["member", "lead", "triager", "operator"])
def test_pages_are_sound(
    browser: Browser,
    sign_in: Callable[[User], None],
    scene: Scene,
    request: pytest.FixtureRequest,
    who: str,
) -> None:
    sign_in(request.getfixturevalue(who))
    _at_work(scene)
    assert _wrong(browser, pages_of(who, scene)) == []


def _at_work(scene: Scene) -> None:
    """A worker with its one slot taken, a job behind it, and a site that no worker reaches."""
    machine = Machine(cores=4, memory_mib=8192, free_mib=6000)
    beat(name="runner-a:12", queues=["jobs"], slots=1, versions={}, machine=machine)
    beat(name="runner-a:14", queues=["doorbell", "looks"], slots=2, versions={}, machine=machine)
    Worker.objects.update(seen_at=now() + timedelta(hours=1))  # pictures of all pages take minutes
    Job.objects.filter(pk=scene.running.pk).update(claimed_by="runner-a:12/77", forks=3)
    remote = some_nodes(2, prefix="north", site="north", rack=None)
    for nodes in (remote, list(Node.objects.filter(status="free", site="")[:1])):
        request_job(playbook="validate_node", nodes=nodes, variables={}, purpose="Validate by hand", by=None)
    ring_unheard()


@pytest.mark.parametrize("who", ["member", "triager", "admin_user"])
def test_pages_of_requests_are_sound(
    browser: Browser,
    sign_in: Callable[[User], None],
    deal: Bargain,
    request: pytest.FixtureRequest,
    who: str,
) -> None:
    sign_in(request.getfixturevalue(who))
    assert _wrong(browser, deals_of(who, deal)) == []


def _wrong(browser: Browser, pages: Mapping[str, str]) -> list[str]:
    """What is wrong with the pages, wide and narrow, by day and by night; their pictures are kept."""
    return [
        f"{name} at {width}{text}"
        for name, path in pages.items()
        for width in (WIDE, NARROW)
        for text in _wrong_with(browser, name, path, width)
    ]


def _wrong_with(browser: Browser, name: str, path: str, width: int) -> Iterator[str]:
    """Of one page at one width: it is opened once, and follows the system's theme."""
    browser.screen(width, dark=False)
    browser.open(path)
    browser.settle()
    for theme in ("light", "dark"):
        browser.screen(width, dark=theme == "dark")
        for text in (*browser.too_wide(), *browser.run(SOUNDNESS)):
            yield f", {theme}: {text}"
        browser.picture(PICTURES / f"{name}-{width}-{theme}.png")
    for text in (*browser.complaints(), *browser.strangers()):
        yield f": {text}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_gate_is_sound(browser: Browser, theme: str) -> None:
    for width in (WIDE, NARROW):
        browser.screen(width, dark=theme == "light")  # the choice counts, not the system
        browser.cookie("theme", theme)
        browser.open("/account/sign-in/")
        assert browser.run("return getComputedStyle(document.documentElement).colorScheme") == theme
        assert [
            *browser.complaints(),
            *browser.strangers(),
            *browser.too_wide(),
            *browser.run(SOUNDNESS),
        ] == []
        browser.picture(PICTURES / f"sign-in-{width}-{theme}.png")


def test_wrong_turns_have_pages_too(browser: Browser, sign_in: Callable[[User], None], member: User) -> None:
    sign_in(member)
    for width in (WIDE, NARROW):
        browser.screen(width, dark=False)
        browser.open("/nowhere/")
        assert "There is nothing here" in browser.text()
        assert [*browser.too_wide(), *browser.run(SOUNDNESS), *browser.strangers()] == []
        browser.picture(PICTURES / f"not-found-{width}-light.png")
