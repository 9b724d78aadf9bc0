"""Which secrets lie in the playbooks themselves? What Ansible's vaults in them hold, opened by the attempt's own passwords.

Ansible opens a vault in the middle of a run and tells nobody. The child looks first: whatever is vaulted in the text that
the playbook runs from, whole files and single values alike, is known before the playbook says its first word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HEAD = b"$ANSIBLE_VAULT;"
_VAULT = re.compile(
    rb"\$ANSIBLE_VAULT;1\.[12];AES256(?:;[^\s\\\"']+)?(?:(?:\\n|\s)+[0-9a-f]+)+"  # indented in YAML, escaped in JSON
)
_SPACE = re.compile(rb"(?:\\n|\s)+")
_NAMED = re.compile(r"\s*[\w.-]+\s*[=:]\s*(.+)")


def secrets_in(folder: Path, passwords: Mapping[str, str]) -> set[str]:
    """Every text that a vault below `folder` holds; `passwords` are files by name of the vault. What none opens stays shut."""
    vaults = list(_vaults(folder)) if passwords else []
    return {secret for opened in _opened(vaults, passwords) for secret in secrets_of(opened)}


def secrets_of(text: str) -> set[str]:
    """Every text of which someone may say: that is the secret. The whole, its lines, values behind a name, leaves of YAML."""
    import yaml  # noqa: PLC0415 - for those alone who use vaults

    found = {
        text,
        *(match[1].strip().strip("\"'") for match in map(_NAMED.match, text.splitlines()) if match),
    }
    try:
        found.update(_leaves(yaml.load(text, Loader=yaml.BaseLoader)))  # noqa: S506 - it makes texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError, ValueError):
        return found
    return found


def _leaves(whole: Any) -> Iterator[str]:
    """Each part once: YAML may say the same a billion times."""
    waiting, seen = [whole], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif value is not None and id(value) not in seen:
            seen.add(id(value))
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _vaults(folder: Path) -> Iterator[bytes]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and HEAD in (text := file.read_bytes()):
            for found in _VAULT.finditer(text):
                head, *lines = _SPACE.split(found[0])
                yield b"\n".join([head, *lines]) + b"\n"


def _opened(vaults: list[bytes], passwords: Mapping[str, str]) -> Iterator[str]:
    if not vaults:
        return
    from ansible.errors import AnsibleError  # noqa: PLC0415 - half a second, for those alone who use vaults
    from ansible.parsing.vault import VaultLib, VaultSecret  # noqa: PLC0415

    known = [
        (name, VaultSecret(Path(file).read_bytes().strip()))  # type: ignore[no-untyped-call]
        for name, file in passwords.items()
    ]
    safe = VaultLib(known)  # type: ignore[no-untyped-call]
    for vault in vaults:
        try:
            opened: bytes = safe.decrypt(vault)  # type: ignore[no-untyped-call]
        except AnsibleError:
            continue  # the playbook that needs it will say so
        yield opened.decode("utf-8", "replace")
