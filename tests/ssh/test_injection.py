"""User text never becomes code: not in Ansible, and not in the shells at both ends of a connection."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from django.conf import LazySettings

from provisioning.jobs.models import HostResult
from provisioning.jobs.services import drain_queue, request_job
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.provisioning.jobs.test_injection import CORPUS, assert_nothing_ran
from tests.ssh.conftest import Hosts, Rows

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db]

# As words of a command, in its environment (which stands in the command line that ssh hands to the node's shell), in a file.
THREE_WAYS = """
- name: Say the words
  ansible.builtin.command:
    argv: "{{ ['printf', '%s\\\\0'] + words }}"
  register: spoken
- name: Say what the environment holds
  ansible.builtin.command:
    argv: [sh, -c, 'printf "%s" "$WORD"']
    expand_argument_vars: false  # else the module puts the text into the script
  environment:
    WORD: "{{ words | join('|') }}"
  register: inherited
- name: Write it into a file
  ansible.builtin.copy:
    content: "{{ words | join('|') }}"
    dest: "{{ node_root }}/tmp/words with a space and a ' quote"
    mode: "0600"
- name: Report
  ansible.builtin.set_fact:
    report:
      spoken: "{{ spoken.stdout | b64encode }}"
      inherited: "{{ inherited.stdout | b64encode }}"
"""


def test_every_odd_text_arrives_over_ssh_as_it_was_written(
    hosts: Hosts, rows: Rows, small: Tiny, settings: LazySettings, tmp_path: Path
) -> None:
    [server] = servers = hosts(1)
    texts = [text for name, text in CORPUS.items() if name != "a megabyte"]
    small.says(THREE_WAYS)
    job = request_job(
        playbook="small", nodes=rows(servers), variables={"words": texts}, purpose="odd", by=None
    )
    drain_queue()
    assert endings(job) == {"gpu-001": "ok"}, said(job)[-3000:]
    report = HostResult.objects.get(job=job).data["report"]
    assert base64.b64decode(report["spoken"]).decode() == "".join(f"{text}\0" for text in texts)
    assert base64.b64decode(report["inherited"]).decode() == "|".join(texts)
    written = server.folder / "root/tmp/words with a space and a ' quote"
    assert written.read_text(encoding="utf-8") == "|".join(texts)
    assert_nothing_ran(tmp_path, settings)
    assert list(server.home.glob(".ansible/tmp/*")) == []
