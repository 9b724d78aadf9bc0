"""How is a credential set, sealed anew and removed? Its value goes in and never comes out, except into a job."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from django.conf import settings
from django.db import transaction

from portal.accounts.models import User
from portal.config import config
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.services import record
from provisioning.credentials import sealing
from provisioning.credentials.models import Credential, Kind
from provisioning.events import CREDENTIAL_REMOVED, CREDENTIAL_SET, CREDENTIALS_SEALED_ANEW
from provisioning.fleet.access import check_operates
from provisioning.fleet.models import Node
from provisioning.jobs.playbooks import REGISTRY

FIELD = "sealed"
SHORTEST = 8
"""Characters a value must have: a shorter one could not be found in a log without hiding half of it."""
LONGEST = 32_768
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?")
_VARIABLES = {
    Kind.ENVIRONMENT: re.compile(r"[A-Z][A-Z0-9_]{0,99}"),
    Kind.VARIABLE: re.compile(r"[a-z][a-z0-9_]{0,99}"),
}
_REFUSED = re.compile(r"ansible_.*|(ANSIBLE|LD|PYTHON|QM)_?.*|PATH|HOME|TMPDIR|LANG|SHELL|IFS")


def roots() -> list[str]:
    """Root keys, the newest first; without configured ones, one that follows from the portal's own key."""
    return list(config().credential_keys) or [f"of the secret key: {settings.SECRET_KEY}"]


@transaction.atomic
def set_credential(
    *,
    name: str,
    kind: str,
    value: str,
    variable: str = "",
    playbooks: Sequence[str] = (),
    nodes: Sequence[str] = (),
    by: User,
) -> Credential:
    """Make the credential `name`, or give it another value and scope. Operators only; Invalid says what can't be."""
    check_operates(by)
    value = value.replace("\r\n", "\n")
    chosen = list(Node.objects.filter(name__in=nodes).order_by("pk"))
    _check(name, kind, value, variable, playbooks, set(nodes) - {node.name for node in chosen})
    found = Credential.objects.select_for_update(no_key=True).filter(name=name).first() or Credential(
        name=name
    )
    found.kind, found.variable, found.playbooks = kind, variable, sorted(set(playbooks))
    found.sealed = sealing.seal(_ended(kind, value), row=str(found.pk), field=FIELD, roots=roots())
    found.changed_at, found.changed_by = now(), by
    found.save()
    found.nodes.set(chosen)
    told = {"kind": kind, "variable": variable, "playbooks": found.playbooks, "nodes": len(chosen)}
    record(CREDENTIAL_SET, subject=f"credential {name}", payload=told, by=by)
    return found


def _ended(kind: str, value: str) -> str:
    return value.strip() + "\n" if kind == Kind.SSH_KEY else value


@transaction.atomic
def remove_credential(credential: Credential, *, by: User) -> None:
    """Remove it; jobs that run keep what they were handed."""
    check_operates(by)
    name = credential.name
    credential.delete()
    record(CREDENTIAL_REMOVED, subject=f"credential {name}", payload={"name": name}, by=by)


def value_of(credential: Credential) -> str:
    """Its value, for a job. sealing.CantOpen when no root key of ours opens it."""
    return sealing.unseal(credential.sealed, row=str(credential.pk), field=FIELD, roots=roots())


@transaction.atomic
def seal_anew(*, by: User | None) -> int:
    """Seal with the newest root key what an older one sealed; how many that were. Then the older one may go."""
    keys, count = roots(), 0
    for credential in Credential.objects.select_for_update(no_key=True).order_by("pk"):
        if sealing.is_current(credential.sealed, roots=keys):
            continue
        credential.sealed = sealing.seal(
            value_of(credential), row=str(credential.pk), field=FIELD, roots=keys
        )
        credential.save(update_fields=["sealed"])
        count += 1
    if count:
        told = {"count": count, "key": sealing.name_of(keys[0])}
        record(CREDENTIALS_SEALED_ANEW, subject="credentials", payload=told, by=by)
    return count


def all_values() -> list[str]:
    """Every value there is, for whoever must keep them out of logs; what can't be opened can't be handed out either."""
    found = []
    for credential in Credential.objects.order_by("pk"):
        try:
            found.append(value_of(credential))
        except sealing.CantOpen:
            continue
    return found


def _check(
    name: str, kind: str, value: str, variable: str, playbooks: Sequence[str], unknown_nodes: set[str]
) -> None:
    complaints: dict[str, list[str]] = {}
    if not _NAME.fullmatch(name):
        complaints["name"] = ["Use small letters, digits and hyphens, at most 60."]
    if kind not in Kind.values:
        complaints["kind"] = [f"Use one of {', '.join(Kind.values)}."]
    elif text := _why_no_variable(Kind(kind), variable):
        complaints["variable"] = [text]
    if text := _why_no_value(kind, value):
        complaints["value"] = [text]
    unknown = [each for each in playbooks if each not in REGISTRY]
    if unknown:
        complaints["playbooks"] = [f"There is no playbook {', '.join(map(repr, sorted(unknown)))}."]
    if unknown_nodes:
        complaints["nodes"] = [f"There is no node {', '.join(sorted(unknown_nodes)[:5])}."]
    if complaints:
        raise Invalid(complaints)


def _why_no_variable(kind: Kind, variable: str) -> str:
    shape = _VARIABLES.get(kind)
    if shape is None:
        return "Only variables have one." if variable else ""
    if not shape.fullmatch(variable) or _REFUSED.fullmatch(variable):
        case = "capital" if kind == Kind.ENVIRONMENT else "small"
        return f"Use {case} letters, digits and underscores, and no name that Ansible or the system itself reads."
    return ""


def _why_no_value(kind: str, value: str) -> str:
    if not SHORTEST <= len(value) <= LONGEST or "\0" in value:
        return f"Between {SHORTEST} and {LONGEST} characters."
    if kind != Kind.SSH_KEY:
        return "One line." if "\n" in value and kind in {Kind.BECOME, Kind.VAULT} else ""
    try:
        load_ssh_private_key(value.strip().encode() + b"\n", password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "This is no private SSH key in OpenSSH's format without a passphrase."
    return ""
