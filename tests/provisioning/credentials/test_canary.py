"""Values that nobody else knows, in every place where a secret may lie, told aloud in every way: none of them is found anywhere."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from re import findall
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.db import connection
from django.http import HttpResponseBase
from django.test import Client

from portal.accounts.models import User
from portal.embedded import processes
from provisioning.credentials.models import Credential
from provisioning.fleet.models import Node
from provisioning.jobs import overflow, playbooks, recorder
from provisioning.jobs.child import MARK
from provisioning.jobs.models import Job
from provisioning.jobs.services import cancel_job
from tests.provisioning.credentials.conftest import a_key
from tests.provisioning.jobs.conftest import Tiny, said
from tests.provisioning.jobs.test_stopping import Running
from tests.provisioning.jobs.test_vaulted import indented, vault

pytestmark = [
    pytest.mark.ansible,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("canary"),  # two at once would find each other's values
]

ODD = """s3cr3t"{x}' &é%"""
VALUES = {
    "become": f"canary-become-{ODD}",
    "vault": "canary-vault-s3cr3t $HOME `id`",
    "environment": f"canary-environment-{ODD}",
    "variable": "canary-variable-s3cr3t {{ lookup('env', 'HOME') }}",
}
VAULTED = {"in_a_file": f"canary-infile-{ODD}", "inline": f"canary-inline-{ODD}"}
NAMED = ("canary_variable", "in_a_file", "inline")
SPELLED = "".join(
    f"""
- name: Tell {name} in all its spellings
  ansible.builtin.debug:
    msg: ["{{{{ {name} }}}}", "{{{{ {name} | to_json }}}}", "{{{{ {name} | to_json | to_json }}}}", "{{{{ {name} | urlencode }}}}", "{{{{ {name} | quote }}}}"]
"""
    for name in NAMED
)
LONG = """
- name: From the environment, at last
  ansible.builtin.command: printenv CANARY_TOKEN
- name: A very long one
  ansible.builtin.debug:
    msg: "{{ canary_variable }}{{ 'x' * 100000 }}{{ inline }}"
"""
TELLS = (
    SPELLED
    + """
- name: From the environment
  ansible.builtin.command: printenv CANARY_TOKEN
- name: In a loop
  ansible.builtin.debug:
    msg: "{{ item }}"
  loop: ["{{ canary_variable }}", "{{ in_a_file }}", "{{ inline }}", "{{ lookup('env', 'CANARY_TOKEN') }}"]
- name: As what a node reports
  ansible.builtin.set_fact:
    report:
      note: "{{ in_a_file }} {{ inline }}"
- name: In what it asserts of {{ inline }}
  ansible.builtin.assert:
    that: canary_variable == in_a_file
    fail_msg: "{{ canary_variable }} is not {{ in_a_file }}"
  ignore_errors: true
- name: In a traceback
  ansible.builtin.debug:
    msg: "{{ (inline ~ canary_variable) | from_json }}"
  ignore_errors: true
- name: In a command that can not be found
  ansible.builtin.command:
    argv: ["/nowhere/{{ inline }}/{{ canary_variable }}"]
  ignore_errors: true
- name: Everything that was handed over
  ansible.builtin.shell: cat SECRETS/*.json SECRETS/ssh_key-* SECRETS/become-* SECRETS/vault-* 2>/dev/null; true
- name: In a command that fails, {{ canary_variable }}
  ansible.builtin.shell: echo "$CANARY_TOKEN" >&2; sleep 1; exit 3
  ignore_errors: true
""".replace("SECRETS", "/dev/shm/qms-*")
    + LONG
)
FAILS = (
    TELLS
    + """
- name: Fail aloud with {{ in_a_file }}
  ansible.builtin.fail:
    msg: "{{ inline }} {{ in_a_file }} {{ canary_variable }}"
"""
)
STAYS = SPELLED + LONG + "\n- name: Stay\n  ansible.builtin.command: sleep 987\n"


@dataclass
class Watcher(threading.Thread):
    """Looks at every process and at every file of the attempts while a job runs."""

    needles: list[bytes]
    folder: Path
    found: set[str] = field(default_factory=set)
    seen_files: set[str] = field(default_factory=set)
    looks: int = 0
    held: int = 0
    """Looks that found a value where it belongs: in the environment of what the playbook starts."""

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.over.wait(0.2):
            self.looks += 1
            for place in Path("/proc").glob("[0-9]*"):
                self._look(place / "cmdline", f"arguments of {place}")
                self._look_at_environment(place)
            for path in self.folder.rglob("*"):
                if path.is_file():
                    self.seen_files.add(path.name)
                    self._look(path, str(path))

    def end(self) -> None:
        self.over.set()
        self.join(30)

    def _look(self, path: Path, where: str) -> None:
        text = _bytes(path)
        self.found |= {
            f"{needle!r} in {where}: {around(needle, text)!r}" for needle in self.needles if needle in text
        }

    def _look_at_environment(self, place: Path) -> None:
        """Only what ansible-playbook became or started may know the variable, and nobody any other value."""
        text = _bytes(place / "environ")
        for needle in self.needles:
            if needle not in text:
                continue
            words = _bytes(place / "cmdline")
            if b"canary-environment" in needle and f"{MARK}=".encode() in text and b"jobs.child" not in words:
                self.held += 1
            elif _bytes(place / "environ") == text:  # it didn't become another program meanwhile
                self.found.add(f"{needle!r} in the environment of {words!r}")


def around(needle: bytes, text: bytes) -> bytes:
    """A value with what stands beside it."""
    at = text.index(needle)
    return text[max(at - 60, 0) : at + len(needle) + 60]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@dataclass
class Places:
    """Where it was looked, and what stood there."""

    values: dict[str, str]
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def needles(self) -> list[str]:
        """The telling part of each value, whichever way the rest of it is spelled; of the key a line."""
        told = [value.partition("s3cr3t")[0] + "s3cr3t" for value in (*VALUES.values(), *VAULTED.values())]
        return [*told, self.values["ssh_key"].splitlines()[2]]

    def leaks(self) -> list[str]:
        """Which value stands where."""
        return [
            f"{needle} in {place}"
            for place, text in self.texts.items()
            for needle in self.needles
            if needle in text
        ]


@pytest.fixture
def places(tiny: Tiny, keep: Callable[..., Credential], monkeypatch: pytest.MonkeyPatch) -> Places:
    """The canaries: as credentials, in a vaulted file and in a vaulted value."""
    monkeypatch.setattr(recorder, "JOB_LIMIT", 3000)  # so that some of it goes to disk
    told = {**VALUES, "ssh_key": a_key()}
    names = {"environment": "CANARY_TOKEN", "variable": "canary_variable"}
    for kind, value in told.items():
        keep(f"canary-{kind.replace('_', '-')}", kind=kind, value=value, variable=names.get(kind, ""))
    with (tiny.file.parents[1] / "ansible.cfg").open("a") as config:
        config.write("[connection]\npipelining = True\n")  # as the portal's own
    password = VALUES["vault"].encode()
    sealed = vault("in_a_file: " + _quoted(VAULTED["in_a_file"]), password=password)
    tiny.file.with_name("secrets.yml").write_text(sealed)
    return Places(told)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'\n"


def play() -> str:
    sealed = vault(VAULTED["inline"], password=VALUES["vault"].encode())
    return f"  vars_files: [secrets.yml]\n  vars:\n    inline: !vault |\n{indented(sealed, 6)}"


def ends_by_itself(running: Running) -> None:
    """Nobody does anything to it."""


def until_it_stays(running: Running) -> None:
    running.wait_until(lambda: any("sleep 987" in words for words in running.commands()), 240)


def is_cancelled(running: Running) -> None:
    until_it_stays(running)
    cancel_job(running.job, reason="enough", by=None)


def is_lost(running: Running) -> None:
    until_it_stays(running)
    for each in processes.marked(MARK, running.job.mark):
        if "jobs.child" in " ".join(processes.command_line(each.pid)):
            os.kill(each.pid, signal.SIGKILL)


ENDINGS: dict[str, tuple[str, Callable[[Running], None]]] = {
    "succeeded": (TELLS, ends_by_itself),
    "failed": (FAILS, ends_by_itself),
    "cancelled": (STAYS, is_cancelled),
    "lost": (STAYS, is_lost),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_value_is_found_anywhere_however_the_job_ends(
    ending: str,
    places: Places,
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    operator: User,
    caplog: pytest.LogCaptureFixture,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", replace(playbooks.REGISTRY["tiny"], idempotent=False))
    caplog.set_level(logging.INFO)
    tasks, happens = ENDINGS[ending]
    tiny.says(tasks, play=play())
    watcher = Watcher([text.encode() for text in places.needles], Path(settings.JOBS_DIR))
    watcher.start()
    try:
        running = Running(queue(make_nodes(1)))
        happens(running)
        assert running.end() == ending, said(running.job)
    finally:
        watcher.end()
    assert watcher.looks > 5
    assert watcher.held > 0
    assert "events.spool" in watcher.seen_files
    assert watcher.found == set()

    job = running.job
    shown = said(job)
    assert shown.count("«secret»") > 5, "it was told, and hidden"
    assert job.events.filter(task="A very long one", kind="ok").exists(), "the playbook came to its last word"
    kept = list(overflow.Reader(job.pk, 1, job.month).all())
    assert kept
    places.texts["overflow"] = "".join(each.text + str(each.result) for each in kept)
    places.texts["database"] = dump()
    places.texts["log"] = caplog.text
    places.texts |= {f"memory {path}": _bytes(path).decode(errors="replace") for path in left_in_memory()}
    places.texts |= {f"file {path}": _bytes(path).decode(errors="replace") for path in written(settings)}
    places.texts |= dict(pages(operator, job, everywhere=ending == "failed"))
    assert places.leaks() == []


def left_in_memory() -> list[Path]:
    return [path for path in Path("/dev/shm").glob("qms-*/**/*") if path.is_file()]


def written(settings: LazySettings) -> Iterator[Path]:
    """All that the portal wrote below its folder on this machine, younger than an hour."""
    for place in (Path(settings.JOBS_DIR), Path(settings.OVERFLOW_DIR)):
        for path in place.rglob("*"):
            if path.is_file() and time.time() - path.stat().st_mtime < 3600:
                yield path


def dump() -> str:
    """Every row of every table, as text."""
    rows: list[str] = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row for (row,) in cursor.fetchall()]
    return "\n".join(rows)


def pages(user: User, job: Job, *, everywhere: bool) -> Iterator[tuple[str, str]]:
    """The job's own, with `everywhere` every page and every answer that leads from the portal's first page and the API's description."""
    client = Client()
    client.force_login(user)
    own = [
        f"/jobs/{job.ref}/{name}"
        for name in ("", "log", "outline", "stream", "log.txt", "log.ndjson", "?replay=10", "?end=1")
    ]
    own += [
        f"/api/v1/jobs/{job.ref}",
        f"/api/v1/jobs/{job.ref}/events",
        "/credentials/",
        "/api/v1/credentials",
    ]
    api = client.get("/api/v1/schema").json()["paths"] if everywhere else {}
    waiting = [
        *own,
        *(["/"] if everywhere else []),
        *(path.format_map(Filled(job)) for path, verbs in api.items() if "get" in verbs),
    ]
    seen: set[str] = set()
    while waiting:
        page = waiting.pop()
        if page in seen or len(seen) > 200:
            continue
        seen.add(page)
        answer = client.get(page)
        text = body(answer)
        yield page, text
        links = findall(r"""(?:href|hx-get|data-log|data-stream)="([^"#]+)""", text)
        waiting += [link.replace("&amp;", "&") for link in links if is_read_only(link)]
    assert {
        f"/jobs/{job.ref}/",
        "/credentials/",
        "/api/v1/credentials",
        f"/api/v1/jobs/{job.ref}/events",
    } <= seen


class Filled(dict[str, str]):
    """What stands in the braces of an address."""

    def __init__(self, job: Job) -> None:
        super().__init__(ref=job.ref, name="gpu-001")

    def __missing__(self, key: str) -> str:
        return "1"


def is_read_only(link: str) -> bool:
    parts = urlsplit(link)
    return (
        not parts.netloc
        and parts.path.startswith("/")
        and not parts.path.startswith(("/static/", "/accounts/logout"))
    )


def body(answer: HttpResponseBase) -> str:
    whole = b"".join(answer) if answer.streaming else answer.content  # type: ignore[call-overload, attr-defined]
    return bytes(whole).decode(errors="replace")
