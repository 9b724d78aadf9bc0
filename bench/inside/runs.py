"""What does a job cost beside plain Ansible? Over simulated nodes, over real sshds, in one round trip and in ten."""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings
from django.db.models import Max

from bench.inside.stage import BOOKS, SKU, a_job, nodes
from portal.config import config
from provisioning.fleet.models import Node, Sku
from provisioning.jobs import accelerator, workspace
from provisioning.jobs.inventory import SshAccess, inventory
from provisioning.jobs.models import Job
from provisioning.jobs.playbooks import LOOKS, REGISTRY, read_variables
from provisioning.jobs.preparation import known_hosts_of, target, tool_path
from provisioning.jobs.supervisor import run_claimed
from provisioning.simulator import fleet
from tests.ssh import sshd


def run(count: str, times: str, book: str) -> dict[str, Any]:
    """Median wall and CPU seconds of the three ways over simulated nodes, with as many forks as ours takes here."""
    chosen = nodes(int(count))
    forks = _ours(chosen, book)
    ways = {
        "raw": lambda: _raw(chosen, book, forks),
        "runner": lambda: _raw(chosen, book, forks, by_runner=True),
        "ours": lambda: _ours(chosen, book),
    }
    return {"hosts": len(chosen), "forks": forks, "playbook": book, **medians(ways, int(times))}


def medians(ways: Mapping[str, Callable[[], object]], times: int) -> dict[str, dict[str, float]]:
    """Each way in turn, so that what else the machine does strikes all alike; once more before, to warm the caches.

    With `times` 0 that first time is what counts.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(times + 1):
        for name, way in ways.items():
            took = _timed(way)
            if turn or not times:
                found[name].append(took)
    return {
        name: {
            "wall": statistics.median(wall for wall, _ in several),
            "cpu": statistics.median(cpu for _, cpu in several),
        }
        for name, several in found.items()
    }


def _timed(way: Callable[[], object]) -> tuple[float, float]:
    before, begun = _cpu(), time.perf_counter()
    way()
    return time.perf_counter() - begun, _cpu() - before


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _ours(chosen: list[Node], name: str) -> int:
    """One job from being asked for to its end; the forks it took.

    More nodes than one worker gets at once are shards of one job, run one after the other, so that no more forks are at work
    than in the other ways.
    """
    job = a_job(chosen, name)
    parts = list(job.shards.order_by("shard").values_list("pk", flat=True)) or [job.pk]
    for part in parts:
        run_claimed(part)
    job.refresh_from_db()
    if job.status != "succeeded":
        raise SystemExit(f"{job.ref} {job.status}: {job.reason_text}")
    return int(Job.objects.filter(pk__in=parts).aggregate(forks=Max("forks"))["forks"] or 1)


def _raw(
    chosen: list[Node],
    name: str,
    forks: int,
    *,
    by_runner: bool = False,
    key: Path | None = None,
    more: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> None:
    """The same files, environment and settings as an attempt of ours, without ours around."""
    mark = workspace.new_mark(1, 1)
    space = workspace.create(Path(settings.JOBS_DIR), mark, owner="bench")
    try:
        ssh = SshAccess(key_file=key, known_hosts=space.known_hosts)
        own = {"job_ref": "J-1", "attempt": 1, "cluster_ref": "", "job_mark": mark}
        workspace.fill(
            space,
            inventory=inventory([target(node) for node in chosen], ssh=ssh),
            variables={**read_variables(REGISTRY[name], BOOKS.get(name, {})), **own},
            known_hosts=known_hosts_of(chosen),
            spec={},
        )
        book = str(file or Path(settings.ANSIBLE_DIR) / "playbooks" / REGISTRY[name].file)
        words = ["ansible-playbook", "-i", str(space.folder / "inventory.json")]
        words += ["-e", f"@{space.folder / 'vars.json'}", "--forks", str(forks), book]
        if by_runner:
            told = [str(space.folder), book, str(settings.ANSIBLE_DIR), str(forks)]
            words = [sys.executable, "-c", RUNNER, *told]
        env = workspace.environment(
            space, mark=mark, path=tool_path(), ansible_dir=Path(settings.ANSIBLE_DIR), mark_name="QM_JOB"
        )
        _must(words, {**env, **(more or {})})
    finally:
        shutil.rmtree(space.control_dir, ignore_errors=True)
        space.remove()


def _must(words: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(
        words, env=env, cwd=settings.ANSIBLE_DIR, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{words} ended with {done.returncode}: {done.stdout[-1500:]} {done.stderr[-1500:]}")


PROBE = """\
    - name: "Look: {what}"
      gpu_probe:
        {{node_root: "{{{{ node_root }}}}", node: "{{{{ node_name }}}}", checks: {checks}, simulated: true}}
"""
CHECKS = sorted(LOOKS)


def trips(count: str, times: str) -> dict[str, Any]:
    """Ten checks of a node by one module in one round trip, beside ten tasks of one check each: with Ansible's own
    default of several round trips a task, with ours of one, and a playbook that does nothing, which is what starting costs.

    Over real sshds where one can be started, or a round trip would cost nothing: `why_not` says why it could not.
    """
    why_not = sshd.why_not()
    if why_not:
        return {"why_not": why_not, **_trips(nodes(int(count)), None, int(times))}
    with behind_sshd(int(count), prefix="t") as (chosen, key):
        return {"why_not": "", **_trips(chosen, key, int(times))}


def _trips(chosen: list[Node], key: Path | None, times: int) -> dict[str, Any]:
    forks = min(len(chosen), 10)
    if key is not None:
        _ours_with(chosen, "drain_node", key)  # learns the host keys
    head = "- name: Look\n  hosts: targets\n  gather_facts: false\n  tasks:\n"
    books = {
        "start": head + "    - name: Nothing\n      ansible.builtin.meta: noop\n",
        "one": head + PROBE.format(what="everything", checks=json.dumps(CHECKS)),
        "ten": head + "".join(PROBE.format(what=name, checks=json.dumps([name])) for name in CHECKS),
    }
    hows: dict[str, dict[str, str]] = {
        "ours": {},
        "default": {"ANSIBLE_PIPELINING": "False", "ANSIBLE_SSH_PIPELINING": "False"},
    }
    if key is not None and accelerator.found()[0] is not None:
        hows["Mitogen"] = through_mitogen()
    ways: dict[str, Callable[[], object]] = {}
    for name, text in books.items():
        file = Path(settings.VAR_DIR) / f"look-{name}.yml"
        file.write_text(text)
        for how, more in hows.items():
            if name == "ten" or how == "ours":
                ways[f"{name}, {how}"] = partial(
                    _raw, chosen, "validate_node", forks, key=key, more=more, file=file
                )
    return {"hosts": len(chosen), "forks": forks, "checks": len(CHECKS), **medians(ways, times)}


def ssh(count: str, times: str, book: str) -> dict[str, Any]:
    """Nodes behind real sshds on loopback, with and without Mitogen; `why_not` says why it can't be measured here."""
    why_not = sshd.why_not() or accelerator.found()[1]
    if why_not:
        return {"why_not": why_not}
    with behind_sshd(int(count), prefix="s") as (chosen, key):
        return _ssh(chosen, key, int(times), book)


@contextmanager
def behind_sshd(count: int, *, prefix: str) -> Iterator[tuple[list[Node], Path]]:
    """Simulated nodes behind a real sshd each, on loopback, and the key that opens them."""
    place = Path(settings.VAR_DIR) / f"ssh-{prefix}"
    place.mkdir(mode=0o700, exist_ok=True)
    key, servers = sshd.make_key(place / "key"), []
    try:
        for number, folder in enumerate(
            fleet.create(place / "fleet", count=count, sku=SKU, seed=7, prefix=f"{prefix}-"), 1
        ):
            servers.append(
                sshd.Sshd(folder=folder, own=place / f"sshd-{number}", address=f"127.0.2.{number}")
            )
            servers[-1].start(key)
        yield [_node(server) for server in servers], key
    finally:
        for server in servers:
            server.stop()


def _node(server: Any) -> Node:
    return Node.objects.create(
        status="free",
        name=server.folder.name,
        address=server.address,
        ansible_port=server.port,
        ansible_user=sshd.account(),
        sku=Sku.objects.get(slug=SKU),
        connection="ssh",
        simulated=True,
        node_root=str(server.folder / "root"),
    )


def _ours_with(chosen: list[Node], book: str, key: Path, *, mitogen: bool = False) -> int:
    told = replace(config(), ssh_key_file=key, job_mitogen=mitogen)
    with mock.patch("provisioning.jobs.preparation.config", return_value=told):
        return _ours(chosen, book)


def through_mitogen() -> dict[str, str]:
    """What plain Ansible is told to run through Mitogen."""
    folder = str(accelerator.found()[0])
    return {
        "ANSIBLE_STRATEGY": accelerator.STRATEGY,
        "ANSIBLE_STRATEGY_PLUGINS": folder,
        "TMPDIR": "/tmp",
    }


def _ssh(chosen: list[Node], key: Path, times: int, book: str) -> dict[str, Any]:
    def ours(*, mitogen: bool) -> int:
        took = _ours_with(chosen, book, key, mitogen=mitogen)
        assert Job.objects.latest("id").versions.get("mitogen", "")[:1].isdigit() == mitogen
        return took

    forks = ours(mitogen=False)  # learns the host keys
    ways = {
        "raw": lambda: _raw(chosen, book, forks, key=key),
        "ours": lambda: ours(mitogen=False),
        "raw, Mitogen": lambda: _raw(chosen, book, forks, key=key, more=through_mitogen()),
        "ours, Mitogen": lambda: ours(mitogen=True),
    }
    return {"hosts": len(chosen), "forks": forks, "playbook": book, "why_not": "", **medians(ways, times)}


RUNNER = """
import sys
from pathlib import Path
from ansible_runner.interface import run
folder, book, ansible, forks = sys.argv[1:]
ran = run(private_data_dir=folder + "/runner", playbook=book, inventory=folder + "/inventory.json",
          cmdline="-e @" + folder + "/vars.json", forks=int(forks), project_dir=ansible, fact_cache_type="memory",
          quiet=True, suppress_env_files=True, event_handler=lambda event: False, cancel_callback=lambda: False)
sys.exit(ran.rc)
"""
