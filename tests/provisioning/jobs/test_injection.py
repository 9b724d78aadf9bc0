"""User text never becomes code: whatever a value holds, it arrives as that text, and nothing runs."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings

from provisioning.fleet.models import Node
from provisioning.jobs import preparation
from provisioning.jobs.fields import text
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.services import drain_queue
from tests.provisioning.jobs.conftest import Tiny, endings, said

pytestmark = [pytest.mark.ansible, pytest.mark.django_db]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

RUNS = "{{ lookup('ansible.builtin.pipe', 'touch PWNED-%s') }}"
CORPUS = {
    "lookup": RUNS,
    "statement": "{% set x = lookup('pipe', 'touch PWNED-s') %}{{ x }}",
    "raw": "{% raw %}{{ 7*7 }}{% endraw %}",
    "comment": "{# note #}#}",
    "unsafe tag": "!unsafe '{{ 7*7 }}'",
    "vault tag": "!vault |\\n $ANSIBLE_VAULT;1.1;AES256",
    "yaml": "a: b # c - [d, {e: f}] &x *x !!python/object:os.system",
    "quotes": "\"'\"'\"' `id` $(touch PWNED-q) ; touch PWNED-c | x && y",
    "connection": "ansible_connection=local ansible_become=true",
    "equation": "word2=evil ansible_host=127.0.0.1",
    "file": "@/etc/passwd",
    "boolean": "yes",
    "octal": "0777",
    "number": "1180591620717411303424",
    "empty": "",
    "json": '{"__ansible_unsafe": "x"}',
    "unicode": "ünïcødé 節點 🙂",
    "backslash": "C:\\new\\table \\x41 \\u0041",
    "percent": "%s %(x)s %d",
}
CORPUS["a megabyte"] = "{{ x }}" * 150_000
ECHO = """
- name: Hand it over
  ansible.builtin.copy:
    content: "{{ words | join(',') | b64encode }}"
    dest: "{{ lookup('ansible.builtin.env', 'HOME') }}/word"
- name: Report
  ansible.builtin.set_fact:
    report:
      words: "{{ words | map('b64encode') }}"
      notes: "{{ notes | map('b64encode') }}"
      sku: "{{ sku | b64encode }}"
"""


def decoded(value: str) -> str:
    return base64.b64decode(value).decode()


def test_every_odd_text_arrives_as_it_was_written_and_nothing_runs(
    tiny: Tiny,
    make_nodes: Nodes,
    queue: Queue,
    settings: LazySettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of the corpus in one run of Ansible: as variables of the job and as values of the inventory."""
    texts = list(CORPUS.values())
    whole = preparation.target
    monkeypatch.setattr(
        preparation,
        "target",
        lambda node: replace(whole(node), sku=CORPUS["lookup"], extra={"notes": texts}),
    )
    tiny.says(ECHO)
    job = queue(make_nodes(1), variables={"words": texts})
    drain_queue()
    assert endings(job) == {"gpu-001": "ok"}, said(job)
    report = HostResult.objects.get(job=job).data["report"]
    assert [decoded(each) for each in report["words"]] == texts
    assert [decoded(each) for each in report["notes"]] == texts
    assert decoded(report["sku"]) == CORPUS["lookup"]
    assert_nothing_ran(tmp_path, settings)


def assert_nothing_ran(tmp_path: Path, settings: LazySettings) -> None:
    places = [tmp_path, Path.cwd(), Path(settings.BASE_DIR)]
    assert [
        found for place in places for found in place.glob("**/PWNED*" if place == tmp_path else "PWNED*")
    ] == []


@pytest.mark.parametrize(
    "odd", ["two\nlines", "nul\0", "turned \u202e", "hidden \u200b", "half \ud800", "\x1b[31m", "\u2028"]
)
def test_text_that_reads_otherwise_than_it_is_never_gets_so_far(odd: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        text(longest=100)(odd)
