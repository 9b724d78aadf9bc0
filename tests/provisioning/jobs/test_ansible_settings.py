"""What Ansible is set to within an attempt, seen from inside one: by the portal's ansible.cfg, its environment and the runner."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from provisioning.fleet.models import Node
from provisioning.jobs.inventory import SshAccess, Target, inventory
from provisioning.jobs.models import Job
from provisioning.jobs.services import drain_queue
from provisioning.jobs.workspace import CONTROL_PATH_ROOM
from tests.provisioning.jobs.conftest import ANSIBLE, Tiny, endings, said

pytestmark = [
    pytest.mark.ansible,
    pytest.mark.django_db,
    pytest.mark.xdist_group("ansible-settings"),
]

Queue = Callable[..., Job]
_seen: dict[str, Any] = {}
"""One attempt tells of all settings."""


@pytest.fixture
def told(
    tiny: Tiny, make_nodes: Callable[..., list[Node]], queue: Queue, settings: LazySettings
) -> dict[str, Any]:
    """Every setting by its name; those of the SSH connection begin with `ssh.`; `attempt` is the attempt's folder."""
    if _seen:
        return _seen
    folder = tiny.file.parents[1]
    shutil.copy(ANSIBLE / "ansible.cfg", folder)
    (folder / "plugins" / "connection").mkdir()
    (folder / "plugins" / "simulated.py").rename(folder / "plugins" / "connection" / "simulated.py")
    dump = folder / "dump.json"
    asked = f"ansible-config dump --type all --format json > {dump} && printenv HOME >> {dump}.home"
    tiny.says(
        f"- name: Tell\n  ansible.builtin.debug:\n    msg: \"{{{{ lookup('ansible.builtin.pipe', '{asked}') }}}}\""
    )
    job = queue(make_nodes(1))
    drain_queue()
    assert endings(job) == {"gpu-001": "ok"}, said(job)
    text = dump.read_text()  # between the marks that the runner's callback puts around whatever is displayed
    for each in json.loads(text[text.index("[\n") : text.rindex("\n]") + 2]):
        if "name" in each:
            _seen[each["name"]] = each["value"]
        elif "CONNECTION_PLUGINS" in each:
            of_ssh = next(plugin["ssh"] for plugin in each["CONNECTION_PLUGINS"] if "ssh" in plugin)
            _seen.update({f"ssh.{option['name']}": option["value"] for option in of_ssh})
    _seen["attempt"] = Path(Path(f"{dump}.home").read_text().strip()).parent
    return _seen


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANSIBLE_PIPELINING", True),
        ("ssh.pipelining", True),
        ("HOST_KEY_CHECKING", True),
        ("ssh.host_key_checking", True),
        ("DEFAULT_GATHERING", "explicit"),
        ("DEFAULT_VERBOSITY", 0),
        ("RETRY_FILES_ENABLED", False),
        ("INVENTORY_ANY_UNPARSED_IS_FAILED", True),
        ("INVENTORY_UNPARSED_IS_FAILED", True),
        ("INVENTORY_ENABLED", ["yaml"]),
        ("DEFAULT_NO_TARGET_SYSLOG", True),
        ("DEPRECATION_WARNINGS", False),
        ("LOCALHOST_WARNING", False),
        ("INTERPRETER_PYTHON", "auto_silent"),
        ("DEFAULT_TIMEOUT", 10),
        ("DEFAULT_STRATEGY", "linear"),
    ],
)
def test_setting_is(told: dict[str, Any], name: str, value: object) -> None:
    assert told[name] == value


def test_only_the_runner_s_own_callback_hears_of_a_job(told: dict[str, Any]) -> None:
    assert told["DEFAULT_STDOUT_CALLBACK"] == "awx_display"
    assert told["CALLBACKS_ENABLED"] == []


def test_home_temporary_files_and_collections_lie_within_the_attempt(told: dict[str, Any]) -> None:
    within = told["attempt"]
    assert within.name.startswith("j"), "the folder is named after the attempt"
    for name in ("ANSIBLE_HOME", "DEFAULT_LOCAL_TMP"):
        assert Path(told[name]).is_relative_to(within), told[name]
    assert all(Path(path).is_relative_to(within) for path in told["COLLECTIONS_PATHS"]), told[
        "COLLECTIONS_PATHS"
    ]


def test_sockets_of_ssh_lie_in_a_short_folder_of_the_attempt_s_own_under_a_hash(told: dict[str, Any]) -> None:
    place = told["ssh.control_path_dir"]
    assert len(place.encode()) <= CONTROL_PATH_ROOM
    assert Path(place).is_relative_to(told["attempt"]) or Path(place).name.startswith("qmc-")
    assert not told["ssh.control_path"], "without a name of its own it is a hash of host, port and account"


@pytest.fixture
def of_ssh(told: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    """What ssh itself makes of what it is told for a node, option by option."""
    if shutil.which("ssh") is None:
        pytest.skip("there is no ssh here")
    node = Target(
        name="gpu-001", address="192.0.2.1", connection="ssh", sku="h100", gpu_count=8, simulated=False
    )
    access = SshAccess(key_file=None, known_hosts=tmp_path / "known_hosts")
    own = inventory([node], ssh=access)["targets"]["hosts"]["gpu-001"]["ansible_ssh_common_args"][
        "__ansible_unsafe"
    ]
    words = ["ssh", "-F", "/dev/null", *told["ssh.ssh_args"].split(), *own.split(), "-G", "192.0.2.1"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return dict(line.split(" ", 1) for line in shown.splitlines() if " " in line)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("serveraliveinterval", "10"),
        ("serveralivecountmax", "3"),
        ("connecttimeout", "10"),
        ("controlmaster", "auto"),
        ("controlpersist", "60"),
        ("stricthostkeychecking", "accept-new"),
        ("globalknownhostsfile", "/dev/null"),
        ("hostkeyalias", "gpu-001"),
        ("identitiesonly", "yes"),
        ("forwardagent", "no"),
        ("updatehostkeys", "false"),
    ],
)
def test_ssh_is_told(of_ssh: dict[str, str], name: str, value: str) -> None:
    assert of_ssh[name] == value


def test_host_keys_are_those_of_the_node_table(of_ssh: dict[str, str], tmp_path: Path) -> None:
    assert of_ssh["userknownhostsfile"] == str(tmp_path / "known_hosts")


def test_inventory_that_can_not_be_read_starts_nothing(
    tiny: Tiny, make_nodes: Callable[..., list[Node]], queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default Ansible would run the playbook over no host at all, and end with 0."""
    shutil.copy(ANSIBLE / "ansible.cfg", tiny.file.parents[1])
    monkeypatch.setattr(
        "provisioning.jobs.preparation.inventory",
        lambda targets, **_: {"targets": {"hosts": {"gpu-001": "no variables"}}},
    )
    job = queue(make_nodes(1))
    drain_queue()
    job.refresh_from_db()
    assert (job.status, job.reason) == ("failed", "could_not_start"), said(job)
