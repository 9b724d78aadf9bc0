"""How does a job get its credentials? As files of its owner alone, in memory where the machine has such a place, by path.

No value stands in an argument, in the inventory, in the runner's own files or in the environment that the runner keeps a
copy of: variables of the environment are put in by a small program between the runner and ansible-playbook.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models.functions import Now

from portal.kernel.errors import Refused
from provisioning.credentials import sealing
from provisioning.credentials.models import Credential, Kind
from provisioning.credentials.services import value_of
from provisioning.jobs.inert import as_data
from provisioning.jobs.workspace import Workspace, write_private

ALONE = (Kind.SSH_KEY, Kind.BECOME)
"""Kinds of which a job has at most one: the one with the narrowest scope."""

LAUNCH = """\
import json, os, sys
with open({file!r}, encoding="utf-8") as file:
    os.environ.update(json.load(file))
os.environ["PATH"] = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != {folder!r})
os.execvp("ansible-playbook", ["ansible-playbook", *sys.argv[1:]])
"""


@dataclass(frozen=True, kw_only=True)
class Handed:
    """What an attempt got: the file of its key, and for its child more words for ansible-playbook, what to hide, and where
    the runner may keep what could hold a credential."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    key_file: Path | None = None


def hand_over(space: Workspace, *, playbook: str, nodes: Iterable[int]) -> Handed:
    """Put what the playbook may use on these nodes into the workspace. Refused when it can't be told what to use."""
    chosen = in_scope(playbook=playbook, nodes=nodes)
    if not chosen:
        return Handed()
    space.secrets.mkdir(mode=0o700)
    words: list[str] = []
    vaults: dict[str, str] = {}
    key_file = None
    values = {credential: _open(credential) for credential in chosen}
    for credential, value in values.items():
        file = space.secrets / f"{credential.kind}-{credential.name}"
        if credential.kind == Kind.SSH_KEY:
            key_file = file
        elif credential.kind == Kind.BECOME:
            words += ["--become-password-file", str(file)]
        elif credential.kind == Kind.VAULT:
            words += ["--vault-id", f"{credential.name}@{file}"]
            vaults[credential.name] = str(file)
        else:
            continue
        write_private(file, value)
    words += _variables(space, _named(values, Kind.VARIABLE))
    _environment(space, _named(values, Kind.ENVIRONMENT))
    Credential.objects.filter(pk__in=[credential.pk for credential in chosen]).update(used_at=Now())
    spec = {"words": shlex.join(words), "vaults": vaults, **_kept_apart(space, values)}
    return Handed(spec=spec, key_file=key_file)


def _kept_apart(space: Workspace, values: Mapping[Credential, str]) -> dict[str, str]:
    hide, artifacts, tmp = (space.secrets / name for name in ("hide.json", "artifacts", "tmp"))
    write_private(hide, json.dumps(list(values.values())))
    for folder in (artifacts, tmp):
        folder.mkdir(mode=0o700)
    return {"hide": str(hide), "artifacts": str(artifacts)}


def in_scope(*, playbook: str, nodes: Iterable[int]) -> list[Credential]:
    """Credentials that a job may use: those whose scope holds its playbook and all of its nodes."""
    wanted = set(nodes)
    found = []
    for credential in Credential.objects.prefetch_related("nodes").order_by("name"):
        its_nodes = {node.pk for node in credential.nodes.all()}
        if (not credential.playbooks or playbook in credential.playbooks) and (
            not its_nodes or wanted <= its_nodes
        ):
            found.append((bool(its_nodes), bool(credential.playbooks), credential))
    return [each[2] for each in found if each[2].kind not in ALONE] + [
        credential for kind in ALONE for credential in _narrowest(kind, found)
    ]


def _narrowest(kind: Kind, found: list[tuple[bool, bool, Credential]]) -> list[Credential]:
    fitting = [each for each in found if each[2].kind == kind]
    best = max((each[:2] for each in fitting), default=None)
    chosen = [each[2] for each in fitting if each[:2] == best]
    if len(chosen) > 1:
        names = " and ".join(credential.name for credential in chosen)
        raise Refused(f"{names} both fit this job; narrow the scope of one.", code="two-credentials")
    return chosen


def _open(credential: Credential) -> str:
    try:
        return value_of(credential)
    except sealing.CantOpen as problem:
        raise Refused(
            f"The credential {credential.name} can't be opened: {problem}.", code="sealed-credential"
        ) from problem


def _named(values: Mapping[Credential, str], kind: Kind) -> dict[str, str]:
    return {credential.variable: value for credential, value in values.items() if credential.kind == kind}


def _variables(space: Workspace, told: Mapping[str, str]) -> list[str]:
    if not told:
        return []
    file = space.secrets / "variables.json"
    write_private(file, json.dumps(as_data(dict(told))))
    return ["-e", f"@{file}"]


def _environment(space: Workspace, told: Mapping[str, str]) -> None:
    if not told:
        return
    file = space.secrets / "environment.json"
    write_private(file, json.dumps(dict(told)))
    space.bin.mkdir(mode=0o700)
    program = space.bin / "launch.py"
    write_private(program, LAUNCH.format(file=str(file), folder=str(space.bin)))
    script = space.bin / "ansible-playbook"
    write_private(script, f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))} "$@"\n')
    script.chmod(0o700)
