"""A sweep runs when it is due, once, over the nodes that are free; what is left out says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.dispatch import deliver_all
from provisioning.fleet.models import Node
from provisioning.jobs.models import HostResult, Job
from provisioning.orders import judging
from provisioning.schedules import services
from provisioning.schedules.models import Schedule, ScheduleRun
from tests.provisioning.builders import FakeJudge, end, some_nodes

pytestmark = pytest.mark.django_db
DUE = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.fixture
def keep(operator: User) -> Callable[..., Schedule]:
    def make(**more: Any) -> Schedule:
        told = {
            "name": "nightly",
            "at": time(2, 30),
            "zone": "Europe/Berlin",
            "at_once": 4,
            "by": operator,
            **more,
        }
        made = services.set_schedule(**told)
        if made.enabled:
            Schedule.objects.filter(pk=made.pk).update(next_at=DUE)
        return made

    return make


def test_due_sweep_asks_for_jobs_over_the_free_nodes(keep: Callable[..., Schedule]) -> None:
    nodes = some_nodes(6)
    Node.objects.filter(pk=nodes[0].pk).update(status="in_use")
    keep()
    assert services.tick(DUE - timedelta(seconds=1)) == 0
    assert services.tick(DUE) == 1
    assert [job.priority for job in Job.objects.all()] == [-1, -1]
    assert HostResult.objects.count() == 5
    schedule = Schedule.objects.get()
    assert schedule.next_at == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    assert ScheduleRun.objects.get().text == "2 jobs were asked for."


def test_scheduler_that_restarts_inside_the_doubled_hour_runs_nothing_twice(
    keep: Callable[..., Schedule],
) -> None:
    some_nodes(1)
    keep()
    for minutes in range(0, 125, 5):
        services.tick(DUE + timedelta(minutes=minutes))
        Schedule.objects.update(next_at=DUE)  # as if it had been killed before it wrote when it is due next
    assert Job.objects.count() == 1
    assert ScheduleRun.objects.count() == 1


def test_sweep_that_comes_too_late_is_left_out_and_says_so(keep: Callable[..., Schedule]) -> None:
    some_nodes(1)
    keep()
    services.tick(DUE + timedelta(hours=3))
    run = ScheduleRun.objects.get()
    assert (run.skipped, Job.objects.count()) == (True, 0)
    assert "nobody looked for 3 h" in run.text


def test_sweep_waits_until_the_one_before_is_over(keep: Callable[..., Schedule]) -> None:
    some_nodes(1)
    keep()
    services.tick(DUE)
    Schedule.objects.update(next_at=DUE + timedelta(days=1))
    services.tick(DUE + timedelta(days=1))
    assert "not over yet" in ScheduleRun.objects.first().text  # type: ignore[union-attr]
    assert Job.objects.count() == 1


def test_schedule_that_rests_is_never_due(keep: Callable[..., Schedule]) -> None:
    assert keep(enabled=False).next_at is None
    assert services.tick(DUE) == 0
    with pytest.raises(IntegrityError), transaction.atomic():
        Schedule.objects.update(next_at=DUE)


def test_nodes_of_a_sweep_are_judged(keep: Callable[..., Schedule], monkeypatch: pytest.MonkeyPatch) -> None:
    judge = FakeJudge(unfit={"gpu-001": "a GPU is gone"})
    monkeypatch.setattr(judging, "judge", lambda: judge)
    some_nodes(2)
    keep()
    services.tick(DUE)
    end(Job.objects.get())
    deliver_all()
    assert list(Node.objects.order_by("name").values_list("verdict", flat=True)) == ["unfit", "fit"]


@pytest.mark.parametrize(
    "told",
    [{"zone": "Mars/Olympus"}, {"playbook": "wipe_node"}, {"sku": "none"}, {"days": [7]}, {"at_once": 0}],
)
def test_what_can_not_be_a_schedule_is_refused(told: dict[str, Any], keep: Callable[..., Schedule]) -> None:
    with pytest.raises(Invalid) as refused:
        keep(**told)
    assert list(refused.value.fields) == list(told)


def test_only_operators_may(member: User, triager: User, keep: Callable[..., Schedule]) -> None:
    schedule = keep()
    for person in (member, triager):
        with pytest.raises(NotAllowed):
            keep(by=person)
        with pytest.raises(NotAllowed):
            services.remove_schedule(schedule, by=person)


FORM = {
    "name": "nightly",
    "playbook": "validate_node",
    "at": "02:30",
    "zone": "Europe/Berlin",
    "at_once": "4",
    "enabled": "on",
}


def test_operator_sets_and_removes_one_on_the_page_and_by_the_api(client: Client, operator: User) -> None:
    client.force_login(operator)
    assert client.post("/schedules/set", FORM).status_code == 302
    assert "02:30 Europe/Berlin, every day" in client.get("/schedules/?name=nightly").content.decode()
    assert client.post("/schedules/set", {**FORM, "zone": "Mars/Olympus"}).status_code == 422
    listed = client.get("/api/v1/schedules").json()["results"]
    assert [each["name"] for each in listed] == ["nightly"]
    assert client.delete("/api/v1/schedules/nightly").status_code == 204
    told = {**FORM, "days": [0, 6], "at_once": 2, "enabled": False}
    assert client.post("/api/v1/schedules", told, content_type="application/json").status_code == 201
    assert Schedule.objects.get().next_at is None
    assert client.post("/schedules/nightly/remove").status_code == 302


def test_teams_see_no_schedules(client: Client, member: User, keep: Callable[..., Schedule]) -> None:
    keep()
    client.force_login(member)
    assert client.get("/schedules/").status_code == 403
    assert client.get("/api/v1/schedules").json()["results"] == []
    assert client.post("/schedules/nightly/remove").status_code == 404
