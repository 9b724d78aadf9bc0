"""Are playbooks plays only, roles typed, commands honest, and is the reference page what the roles say?"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioning.jobs.child import NODE_MARK
from tests.ansible.conftest import ANSIBLE, REPO

PLAYBOOKS = sorted((ANSIBLE / "playbooks").glob("*.yml"))
ROLES = sorted(path for path in (ANSIBLE / "roles").iterdir() if path.is_dir())
TASK_FILES = sorted([*ANSIBLE.glob("roles/*/tasks/*.yml"), *ANSIBLE.glob("roles/*/handlers/*.yml")])

# What the portal gives each playbook next to job_ref, attempt and cluster_ref.
JOB_VARIABLES = {
    "provision_node": {"team", "team_accounts", "gpu_driver_version", "storage_mounts", "fabric_manager"},
    "join_cluster": {"cluster_name", "cluster_hosts", "partition"},
    "validate_node": {"probe_checks", "probe_repeats", "probe_time_limit"},
    "validate_cluster": {"cluster_hosts", "collective_sizes", "collective_repeats"},
    "drain_node": {"reason"},
    "wipe_node": {"team_accounts", "storage_mounts", "wipe_force"},
    "apply_workaround": {"remedy_name", "remedy_settings"},
    "revert_workaround": {"remedy_name", "remedy_settings"},
}
ALWAYS = {"job_ref", "attempt", "cluster_ref", "node_name", "node_root", "sku", "gpu_count", "simulated"}
# Modules that would act on the portal's own machine when the node is a simulated one.
OF_THIS_MACHINE = {
    "apt",
    "package",
    "service",
    "systemd",
    "systemd_service",
    "user",
    "group",
    "mount",
    "modprobe",
    "sysctl",
    "hostname",
    "reboot",
    "authorized_key",
    "cron",
    "shell",
    "raw",
    "script",
    "setup",
    "pip",
}


@pytest.fixture(scope="session")
def reference() -> Any:
    spec = importlib.util.spec_from_file_location("ansible_reference", ANSIBLE / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tasks_of(path: Path) -> list[dict[str, Any]]:
    """Every task of a file, those inside blocks too."""
    found, open_ = [], list(load(path))
    while open_:
        task = open_.pop()
        found.append(task)
        for part in ("block", "rescue", "always"):
            open_.extend(task.get(part, []))
    return found


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_playbook_only_lists_roles(path: Path) -> None:
    for play in load(path):
        assert set(play) == {
            "name",
            "hosts",
            "gather_facts",
            "become",
            "any_errors_fatal",
            "timeout",
            "environment",
            "roles",
        }
        assert (play["hosts"], play["gather_facts"], play["any_errors_fatal"]) == ("targets", False, False)
        assert all(set(role) == {"role"} for role in play["roles"])


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_everything_a_play_starts_on_a_node_carries_the_attempt_s_mark(path: Path) -> None:
    """By it a stopped attempt is found on the node and ended; a task's own environment would not take it away."""
    for play in load(path):
        assert play["environment"] == {NODE_MARK: "{{ job_mark | default('') }}"}
    assert f'MARK = "{NODE_MARK}"' in (ANSIBLE / "library" / "node_quiet.py").read_text(encoding="utf-8")


def test_no_task_runs_past_the_environment_of_its_play() -> None:
    """`raw` and `script` start things without it."""
    used = {module.rpartition(".")[2] for path in TASK_FILES for task in tasks_of(path) for module in task}
    assert used.isdisjoint({"raw", "script"})


def test_playbooks_are_the_ones_the_portal_knows() -> None:
    assert {path.stem for path in PLAYBOOKS} == set(JOB_VARIABLES)


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_playbook_takes_exactly_the_variables_of_the_contract(path: Path, reference: Any) -> None:
    assert set(reference.variables_of(path)) - ALWAYS == JOB_VARIABLES[path.stem]


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_roles_of_a_playbook_agree_about_a_variable(path: Path, reference: Any) -> None:
    seen: dict[str, str] = {}
    for role in reference.roles_of(path):
        for name, option in reference.public(role).items():
            assert seen.setdefault(name, reference.type_of(option)) == reference.type_of(option), (
                f"{name} in {role}"
            )


def test_same_variable_has_the_same_type_in_every_playbook(reference: Any) -> None:
    seen: dict[str, str] = {}
    for path in PLAYBOOKS:
        for name, option in reference.variables_of(path).items():
            assert seen.setdefault(name, reference.type_of(option)) == reference.type_of(option), (
                f"{name} in {path.stem}"
            )


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_role_declares_every_default_and_describes_every_variable(role: Path) -> None:
    options = load(role / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    defaults = role / "defaults/main.yml"

    assert set(load(defaults) or {} if defaults.exists() else {}) <= set(options)
    assert all(option["type"] and option["description"] for option in options.values())


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_role_is_used_by_a_playbook(role: Path, reference: Any) -> None:
    assert role.name in {name for path in PLAYBOOKS for name in reference.roles_of(path)}


def test_reference_page_is_what_the_roles_say(reference: Any) -> None:
    page = (REPO / "docs/reference/playbooks.md").read_text(encoding="utf-8")
    assert page == reference.page(), "run: python ansible/reference.py > docs/reference/playbooks.md"


@pytest.mark.parametrize("path", TASK_FILES, ids=lambda path: str(path.relative_to(ANSIBLE / "roles")))
def test_task_neither_hides_errors_nor_acts_on_the_portal_s_machine(path: Path) -> None:
    for task in tasks_of(path):
        words = {word.rsplit(".", 1)[-1] for word in task}
        assert not words & OF_THIS_MACHINE, task["name"]
        assert "ignore_errors" not in task, task["name"]
        assert "delegate_to" not in task, task["name"]
        if "command" in words:
            assert "changed_when" in task, task["name"]


@pytest.mark.parametrize("path", TASK_FILES, ids=lambda path: str(path.relative_to(ANSIBLE / "roles")))
def test_task_of_ours_knows_where_the_node_s_files_are(path: Path) -> None:
    for task in tasks_of(path):
        for module, arguments in task.items():
            if module.startswith("node_") or module in ("gpu_probe", "collective_probe"):
                assert arguments["node_root"] == "{{ node_root }}", task["name"]


def test_tasks_the_portal_reads_have_their_agreed_names() -> None:
    names = {task["name"]: set(task) for path in TASK_FILES for task in tasks_of(path)}

    assert "gpu_probe" in names["Probe the node"]
    assert "collective_probe" in names["Measure the collective"]
    assert "node_versions" in names["Report"]


def test_play_stays_small_enough_for_many_nodes(reference: Any) -> None:
    """Every task costs about 0.3 CPU seconds per node on the worker, so their number is watched."""
    counts = {
        path.stem: sum(
            1
            for role in reference.roles_of(path)
            for file in (ANSIBLE / "roles" / role / "tasks").glob("*.yml")
            for task in tasks_of(file)
            if not any(word.endswith(("import_tasks", "assert", "meta")) for word in task)
        )
        for path in PLAYBOOKS
    }
    assert counts["provision_node"] <= 22
    assert all(count <= 6 for name, count in counts.items() if name != "provision_node")


@pytest.mark.parametrize(
    "path",
    sorted([*ANSIBLE.glob("library/*.py"), *ANSIBLE.glob("module_utils/*.py")]),
    ids=lambda path: path.name,
)
def test_what_runs_on_nodes_is_python_3_8_without_packages(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    newer = {"removeprefix", "removesuffix"} & {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }

    assert {name.split(".")[0] for name in imported} <= {*sys.stdlib_module_names, "ansible"}
    assert newer == set()
