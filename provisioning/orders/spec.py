"""Is what was asked sound, and how is it kept? OrderSpec to JSON and back, with a complaint per field.

Everything here ends up on nodes as names, keys and mounts, so each value has a shape and nothing else passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from provisioning.contracts import Account, OrderKind, OrderSpec, StorageMount
from provisioning.orders.remedies import complaints_about as complaints_about_remedy

MOST_NODES = 4096
MOST_ACCOUNTS = 500
MOST_KEYS = 20

_NAME = re.compile(r"\A[a-z][a-z0-9-]{0,38}[a-z0-9]\Z|\A[a-z]\Z")
_ACCOUNT = re.compile(r"\A[a-z][a-z0-9_-]{0,31}\Z")
_KEY = re.compile(
    r"\A(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|"
    r"sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]{40,12000}={0,2}( [\x21-\x7e ]{0,200})?\Z"
)
_VERSION = re.compile(r"\A[0-9]{2,4}(\.[0-9]{1,4}){1,3}\Z")
_PATH = re.compile(r"\A(/[A-Za-z0-9._-]{1,60}){1,8}\Z")
_SOURCE = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9.:@,/_\[\]-]{0,250}\Z")
_FSTYPE = re.compile(r"\A[a-z][a-z0-9.]{0,19}\Z")
_OPTIONS = re.compile(r"\A[A-Za-z0-9_.,=:/+-]{1,200}\Z")
_SYSTEM_ACCOUNTS = frozenset(
    {"root", "daemon", "bin", "sys", "sync", "mail", "nobody", "sshd", "slurm", "munge"}
)
_SYSTEM_FOLDERS = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var"}
)

Complaints = dict[str, list[str]]


def complaints_about(spec: OrderSpec, *, at: datetime) -> Complaints:
    """What is wrong by field; empty when the spec is sound."""
    found: Complaints = {}

    def complain(field: str, text: str) -> None:
        found.setdefault(field, []).append(text)

    _check_size(spec, complain)
    _check_words(spec, complain)
    if (
        spec.kind == OrderKind.BUILD
        and spec.lease_end is not None
        and (spec.lease_end.tzinfo is None or spec.lease_end <= at)
    ):
        complain("lease_end", "Give a time in the future, with its time zone.")
    _check_accounts(spec.accounts, complain)
    _check_remedy(spec, complain)
    for position, mount in enumerate(spec.storage_mounts):
        for text in _mount_complaints(mount):
            complain("storage_mounts", f"mount {position + 1}: {text}")
    return found


def _check_size(spec: OrderSpec, complain: Any) -> None:
    least = {OrderKind.BUILD: 1, OrderKind.RESIZE: 1}.get(spec.kind, 0)
    most = 0 if spec.kind in (OrderKind.RELEASE, OrderKind.RECHECK) else MOST_NODES
    if not least <= spec.nodes <= most:
        complain("nodes", f"Give a number from {least} to {most}.")


def _check_words(spec: OrderSpec, complain: Any) -> None:
    if spec.cluster_name and not _NAME.match(spec.cluster_name):
        complain("cluster_name", "Use 1 to 40 small letters, digits and hyphens, beginning with a letter.")
    if spec.driver_version and not _VERSION.match(spec.driver_version):
        complain("driver_version", "Give a driver version such as 570.172.08.")
    if spec.kind == OrderKind.BUILD and spec.cluster_ref:
        complain("cluster_ref", "A build makes a new cluster; leave this empty.")
    if spec.kind != OrderKind.BUILD and not spec.cluster_ref:
        complain("cluster_ref", "Name the cluster.")


def _check_remedy(spec: OrderSpec, complain: Any) -> None:
    wanted = spec.kind in (OrderKind.APPLY, OrderKind.REVERT)
    if not wanted and (spec.remedy or spec.settings):
        complain("remedy", "Only an apply or a revert has one.")
    if wanted:
        names = [name for name, _value in spec.settings]
        if len(set(names)) != len(names):
            complain("settings", "A name is there twice.")
        for field, texts in complaints_about_remedy(spec.remedy, dict(spec.settings)).items():
            for text in texts:
                complain(field, text)


def _check_accounts(accounts: tuple[Account, ...], complain: Any) -> None:
    if len(accounts) > MOST_ACCOUNTS:
        complain("accounts", f"At most {MOST_ACCOUNTS} accounts.")
    names = [account.name for account in accounts]
    for name in sorted({name for name in names if names.count(name) > 1}):
        complain("accounts", f"{name[:40]!r} is there twice.")
    for account in accounts:
        for text in _account_complaints(account):
            complain("accounts", f"{account.name[:40]!r}: {text}")


def _account_complaints(account: Account) -> list[str]:
    found = []
    if not _ACCOUNT.match(account.name) or account.name in _SYSTEM_ACCOUNTS:
        found.append(
            "use 1 to 32 small letters, digits, hyphens and underscores, and no name of the system's own"
        )
    if len(account.keys) > MOST_KEYS:
        found.append(f"at most {MOST_KEYS} keys")
    if not all(_KEY.match(key) for key in account.keys):
        found.append("a key is one line of a public key file, without options before it")
    return found


def _mount_complaints(mount: StorageMount) -> list[str]:
    found = []
    parts = mount.path.split("/")
    if not _PATH.match(mount.path) or ".." in parts or "." in parts:
        found.append("path must be absolute, without dots for folders")
    elif parts[1] in _SYSTEM_FOLDERS:
        found.append(f"/{parts[1]} belongs to the system")
    if not _SOURCE.match(mount.source):
        found.append("source must be a host and path, or a device")
    if not _FSTYPE.match(mount.fstype):
        found.append("fstype must be a file system's name")
    if not _OPTIONS.match(mount.options):
        found.append("options must be words separated by commas")
    return found


def to_json(spec: OrderSpec) -> dict[str, Any]:
    """The spec as it is kept with its order."""
    kept = asdict(spec)
    kept["lease_end"] = None if spec.lease_end is None else spec.lease_end.isoformat()
    return kept


def from_json(kept: Mapping[str, Any]) -> OrderSpec:
    """The spec an order was placed with."""
    lease_end = kept.get("lease_end")
    return OrderSpec(
        kind=OrderKind(kept["kind"]),
        team=kept["team"],
        sku=kept["sku"],
        nodes=kept["nodes"],
        cluster_name=kept.get("cluster_name", ""),
        cluster_ref=kept.get("cluster_ref", ""),
        lease_end=None if lease_end is None else datetime.fromisoformat(lease_end),
        driver_version=kept.get("driver_version", ""),
        accounts=accounts_from(kept.get("accounts", [])),
        storage_mounts=mounts_from(kept.get("storage_mounts", [])),
        remedy=kept.get("remedy", ""),
        settings=tuple((str(name), str(value)) for name, value in kept.get("settings", [])),
    )


def accounts_from(kept: list[Mapping[str, Any]]) -> tuple[Account, ...]:
    """Accounts from JSON."""
    return tuple(Account(name=one["name"], keys=tuple(one["keys"])) for one in kept)


def mounts_from(kept: list[Mapping[str, Any]]) -> tuple[StorageMount, ...]:
    """Mounts from JSON."""
    return tuple(StorageMount(**one) for one in kept)
