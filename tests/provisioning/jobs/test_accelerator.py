"""Mitogen runs what it fits; for everything else an attempt says in one sentence why it runs without."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.config import config
from provisioning.fleet.models import Node
from provisioning.jobs import accelerator, preparation
from provisioning.jobs.accelerator import LONGEST_SOCKET, Accelerator, choose
from provisioning.jobs.models import Job
from provisioning.jobs.services import drain_queue
from tests.provisioning.jobs.conftest import Tiny, endings

SHORT = Path("/var/jobs/j12-1-0a0a0a0a/tmp")
LONG = Path("/" + "d" * (LONGEST_SOCKET - 20))
STRATEGIES = Path("/site/ansible_mitogen/plugins/strategy")


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Mitogen that is there and is taken."""
    monkeypatch.setattr(accelerator, "found", lambda: (STRATEGIES, ""))
    monkeypatch.setattr(accelerator.metadata, "version", lambda name: "0.3.54")


@pytest.fixture
def asked_anew() -> Iterator[None]:
    accelerator.found.cache_clear()
    yield
    accelerator.found.cache_clear()


def chosen(
    *,
    connections: frozenset[str] = frozenset({"ssh"}),
    strangers: tuple[str, ...] = (),
    folders: tuple[Path, ...] = (SHORT,),
) -> Accelerator:
    return choose(connections=connections, strangers=strangers, folders=folders)


def test_nodes_behind_ssh_that_are_known_run_by_it(fits: None) -> None:
    assert chosen() == Accelerator(
        says="0.3.54",
        variables={
            "ANSIBLE_STRATEGY": "mitogen_linear",
            "ANSIBLE_STRATEGY_PLUGINS": str(STRATEGIES),
            "TMPDIR": str(SHORT),
        },
    )


def test_its_sockets_go_where_their_path_is_short_enough(fits: None) -> None:
    assert chosen(folders=(LONG, SHORT)).variables["TMPDIR"] == str(SHORT)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"connections": frozenset({"ssh", "simulated"})}, "not used: not every node is behind SSH"),
        (
            {"strangers": ("gpu-007", "gpu-003")},
            "not used: gpu-003 has not shown its host key yet, and this job learns it",
        ),
        ({"folders": (LONG,)}, "not used: the path of the var folder is too long for its sockets"),
    ],
)
def test_what_it_does_not_fit_runs_without(fits: None, more: dict[str, object], says: str) -> None:
    assert chosen(**more) == Accelerator(says=says)  # type: ignore[arg-type]


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch, asked_anew: None) -> None:
    monkeypatch.setattr(accelerator.importlib.util, "find_spec", lambda name: None)
    assert chosen() == Accelerator(says="not used: Mitogen is not installed")


@pytest.mark.ansible
@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "raise RuntimeError('strategies of others are gone')",
            "RuntimeError: strategies of others are gone",
        ),
        ("", "StrategyModule"),
    ],
)
def test_what_this_ansible_refuses_is_said_in_its_words(
    monkeypatch: pytest.MonkeyPatch, asked_anew: None, tmp_path: Path, code: str, why: str
) -> None:
    """Tried for real: the day ansible-core takes no strategy of others, jobs run without and say so."""
    folder = tmp_path / "ansible_mitogen" / "plugins" / "strategy"
    folder.mkdir(parents=True)
    (tmp_path / "ansible_mitogen" / "__init__.py").touch()
    (folder / "mitogen_linear.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ansible_mitogen", raising=False)
    says = chosen().says
    assert says.startswith("not used: ansible-core ")
    assert " refuses it: " in says
    assert why in says


@pytest.mark.ansible
@pytest.mark.django_db
def test_job_that_runs_without_says_why_among_its_versions(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = replace(config(), job_mitogen=True)
    monkeypatch.setattr(preparation, "config", lambda: told)
    job = queue(make_nodes(1))
    drain_queue()
    assert endings(job) == {"gpu-001": "ok"}
    assert job.versions["mitogen"] == "not used: not every node is behind SSH"
