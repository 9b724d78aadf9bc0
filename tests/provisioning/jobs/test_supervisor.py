"""A job from the queue to its end, with a real ansible-playbook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.embedded import processes
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import playbooks
from provisioning.jobs.child import MARK
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeLease
from provisioning.jobs.preparation import expected_tasks
from provisioning.jobs.services import drain_queue
from tests.provisioning.jobs.conftest import Tiny, endings, said

pytestmark = [pytest.mark.ansible, pytest.mark.django_db]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

MIXED = """
- name: Greet
  ansible.builtin.command: echo hello
- name: Try
  ansible.builtin.command: 'false'
  ignore_errors: true
  when: inventory_hostname == "gpu-001"
- name: Rescued
  when: inventory_hostname == "gpu-002"
  block:
    - name: Break for a while
      ansible.builtin.command: 'false'
  rescue:
    - name: Mend
      ansible.builtin.command: echo mended
- name: Tidied
  when: inventory_hostname == "gpu-003"
  block:
    - name: Break
      ansible.builtin.fail:
        msg: the fan is loud
  always:
    - name: Tidy
      ansible.builtin.command: echo tidied
- name: Go on
  ansible.builtin.command: echo more
"""
LOOK_ROUND = """
- name: Say
  ansible.builtin.debug:
    msg: "{{ job_ref }} {{ attempt + 1 }} {{ word }} {{ number }} {{ switch is sameas true }} {{ node_name }}"
- name: Look
  ansible.builtin.command: env
- name: Report
  ansible.builtin.set_fact:
    report:
      driver: 570.124.06
"""


def run(job: Job) -> Job:
    drain_queue()
    job.refresh_from_db()
    return job


def test_job_whose_nodes_are_all_ok_succeeds_with_a_whole_record(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    nodes = make_nodes(2)
    job = run(queue(nodes))
    assert job.status == "succeeded"
    assert endings(job) == {"gpu-001": "ok", "gpu-002": "ok"}
    events = JobEvent.objects.filter(job=job)
    counters = list(events.values_list("counter", flat=True))
    assert counters == list(range(1, len(counters) + 1))
    assert {"play", "task", "ok", "stats"} <= set(events.values_list("kind", flat=True))
    assert (len(job.playbook_hash), len(job.inventory_hash)) == (64, 64)
    assert job.versions["ansible-core"].startswith("2.")
    assert job.expected_tasks == 1
    HostResult.objects.filter(job=job).update(tasks_done=7)
    assert expected_tasks(playbooks.REGISTRY["tiny"], tiny.file.parents[1]) == 7


def test_job_that_is_done_leaves_no_folder_no_process_no_held_node_and_tells_the_ledger(
    make_nodes: Nodes, queue: Queue, settings: LazySettings
) -> None:
    job = run(queue(make_nodes(1)))
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert processes.marked(MARK, job.mark) == []
    assert not NodeLease.objects.filter(released_at=None).exists()
    told = Event.objects.filter(subject=job.ref).order_by("id")
    assert [event.name for event in told] == ["job.queued", "job.started", "job.finished"]
    payload = told[2].payload
    assert (payload["job"], payload["status"], payload["nodes"]) == (job.ref, "succeeded", {"ok": 1})


def test_job_tells_ok_failed_and_unreachable_nodes_apart(tiny: Tiny, make_nodes: Nodes, queue: Queue) -> None:
    tiny.says(MIXED)
    job = run(queue([*make_nodes(3), *make_nodes(1, start=4, address="192.0.2.99")]))
    assert endings(job) == {"gpu-001": "ok", "gpu-002": "ok", "gpu-003": "failed", "gpu-004": "unreachable"}
    assert (job.status, job.reason) == ("partial", "hosts_failed")
    assert job.reason_text == "Of 4 nodes 2 are ok, 1 failed, 1 could not be reached."
    failed = HostResult.objects.get(job=job, node__name="gpu-003")
    assert failed.first_failure == "the fan is loud"
    assert JobEvent.objects.get(job=job, counter=failed.first_failure_counter).failed
    assert "nobody answers" in HostResult.objects.get(job=job, node__name="gpu-004").first_failure


def test_playbook_that_can_not_be_read_says_so(tiny: Tiny, make_nodes: Nodes, queue: Queue) -> None:
    tiny.raw("- hosts: targets\n  tasks:\n    - name: Odd\n      no_such_module_at_all: {}\n")
    job = run(queue(make_nodes(2)))
    assert (job.status, job.reason) == ("failed", "could_not_start")
    assert job.reason_text.startswith("It did not start, because: ")
    assert "no_such_module_at_all" in job.reason_text
    assert endings(job) == {"gpu-001": "not_attempted", "gpu-002": "not_attempted"}


def test_playbook_that_matches_no_node_is_no_success(tiny: Tiny, make_nodes: Nodes, queue: Queue) -> None:
    tiny.raw("- hosts: others\n  gather_facts: false\n  tasks:\n    - ansible.builtin.command: echo hello\n")
    job = run(queue(make_nodes(1)))
    assert (job.status, job.reason) == ("failed", "no_hosts")
    assert endings(job) == {"gpu-001": "not_attempted"}


def test_playbook_that_leaves_a_node_out_does_not_call_it_ok(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    tiny.raw("- hosts: gpu-001\n  gather_facts: false\n  tasks:\n    - ansible.builtin.command: echo hello\n")
    job = run(queue(make_nodes(2)))
    assert endings(job) == {"gpu-001": "ok", "gpu-002": "not_attempted"}
    assert job.status == "partial"


def test_playbook_that_is_missing_fails_the_job_with_its_name(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    tiny.file.unlink()
    job = run(queue(make_nodes(1)))
    assert (job.status, job.reason) == ("failed", "could_not_start")
    assert "tiny.yml" in job.reason_text


def test_job_that_takes_too_long_times_out(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        playbooks.REGISTRY, "tiny", replace(playbooks.REGISTRY["tiny"], timeout=timedelta(seconds=4))
    )
    tiny.says("- name: Sleep\n  ansible.builtin.command: sleep 600")
    job = run(queue(make_nodes(1)))
    assert (job.status, job.reason) == ("timed_out", "deadline")
    assert job.reason_text == "It took longer than its limit of 4 s."
    assert endings(job)["gpu-001"] in {"interrupted", "not_attempted"}
    assert processes.marked(MARK, job.mark) == []


def test_job_of_which_nothing_is_heard_times_out(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        playbooks.REGISTRY, "tiny", replace(playbooks.REGISTRY["tiny"], idle=timedelta(seconds=4))
    )
    tiny.says("- name: Sleep\n  ansible.builtin.command: sleep 600")
    job = run(queue(make_nodes(1)))
    assert (job.status, job.reason) == ("timed_out", "idle")


def test_playbook_learns_its_variables_and_nothing_of_the_workers_environment(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_THE_WORKER", "hunter2-hunter2")
    tiny.says(LOOK_ROUND)
    job = run(queue(make_nodes(1), variables={"word": "cosmos", "number": 4, "switch": True}))
    assert f"{job.ref} 2 cosmos 4 True gpu-001" in said(job)
    assert HostResult.objects.get(job=job).data == {"report": {"driver": "570.124.06"}}
    seen = JobEvent.objects.get(job=job, kind="ok", task="Look").data["result"]["stdout"]
    assert MARK in seen
    for name in ("A_SECRET_OF_THE_WORKER", "PORTAL_", "DJANGO"):
        assert name not in seen
