"""The number of tasks that a first run is measured by."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.task_count import count_tasks

TASKS = """
- name: One
  command: "true"
- name: A block
  block:
    - command: "true"
    - ansible.builtin.include_tasks: more.yml
  rescue:
    - command: "true"
  always:
    - command: "true"
- ansible.builtin.import_tasks:
    file: more.yml
- ansible.builtin.include_tasks: "{{ anything }}.yml"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("playbooks", "roles/fabric/tasks", "roles/fabric/meta"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "roles/fabric/tasks/main.yml").write_text(TASKS)
    (tmp_path / "roles/fabric/tasks/more.yml").write_text("- command: a\n- command: b\n")
    (tmp_path / "roles/fabric/meta/argument_specs.yml").write_text("argument_specs: {}\n")
    (tmp_path / "playbooks/play.yml").write_text(
        "- hosts: targets\n  pre_tasks: [{command: a}]\n  roles: [fabric, {role: missing}]\n  tasks:\n"
    )
    return tmp_path


def test_tasks_of_plays_roles_blocks_and_includes_are_counted(folder: Path) -> None:
    before, checks, one, block, imported, include = 1, 1, 1, (1 + 1 + 2 + 1), 2, 1
    assert count_tasks(folder, "play.yml") == before + checks + one + block + imported + include


def test_file_that_includes_itself_comes_to_an_end(folder: Path) -> None:
    (folder / "roles/fabric/tasks/more.yml").write_text("- include_tasks: more.yml\n")
    counted = count_tasks(folder, "play.yml")
    assert counted is not None
    assert counted < 100


@pytest.mark.parametrize("text", ["- hosts: [", "just words", "- 7"])
def test_playbook_that_can_not_be_read_is_not_counted(folder: Path, text: str) -> None:
    (folder / "playbooks/play.yml").write_text(text)
    assert count_tasks(folder, "play.yml") is None
    assert count_tasks(folder, "missing.yml") is None


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_playbook_of_the_portal_is_counted(name: str) -> None:
    counted = count_tasks(settings.BASE_DIR / "ansible", REGISTRY[name].file)
    assert counted is not None
    assert 2 <= counted <= 300
