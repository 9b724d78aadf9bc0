"""What do jobs of a campaign run? Two steps that the node itself writes down, with whoever else was at work on it at that moment."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("one", "two")
LAST_MARK = f"{STEPS[-1]}-end"
LOG = "campaign.log"
STEP = """\
#!/bin/sh
# step.sh ROOT NAME JOB ATTEMPT SECONDS: what the node itself saw, and whether somebody else was at work on it at that moment.
exec 9>>"$1/campaign.lock"
flock -n 9 || echo "overlap $3 $4 $(date +%s.%N)" >> "$1/campaign.log"
echo "$2-begin $3 $4 $(date +%s.%N)" >> "$1/campaign.log"
sleep "$5"
echo "$2-end $3 $4 $(date +%s.%N)" >> "$1/campaign.log"
"""
STEP_TASK = """\
    - name: Step {name}
      ansible.builtin.command:
        argv: [sh, "{{{{ node_root }}}}/step.sh", "{{{{ node_root }}}}", {name}, "{{{{ job_ref }}}}", "{{{{ attempt }}}}", "{{{{ number }}}}"]
"""
PLAYBOOK = (
    """\
- name: A play of the campaign
  hosts: targets
  gather_facts: false
  any_errors_fatal: false
  timeout: 60
  environment:
    QM_ATTEMPT: "{{ job_mark }}"
  tasks:
"""
    + "".join(STEP_TASK.format(name=name) for name in STEPS)
    + """\
    - name: Fail where it is planned
      ansible.builtin.fail:
        msg: as planned
      when: node_name in words
"""
)


def make(folder: Path) -> None:
    """An Ansible folder with this playbook and what the sweep itself runs on nodes."""
    (folder / "playbooks").mkdir(parents=True)
    shutil.copy(ROOT / "ansible" / "ansible.cfg", folder)
    for name in ("upkeep", "library", "module_utils"):
        (folder / name).symlink_to(ROOT / "ansible" / name)
    (folder / "playbooks" / "tiny.yml").write_text(PLAYBOOK, encoding="utf-8")
