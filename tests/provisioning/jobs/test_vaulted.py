"""What a playbook keeps in a vault is known before it runs, however it lies there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from provisioning.jobs.vaulted import secrets_in, secrets_of

PASSWORD = b"the-password-of-the-vault"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


def vault(text: str, *, password: bytes = PASSWORD, name: str | None = None) -> str:
    """`text` as `ansible-vault encrypt` writes it."""
    secret = VaultSecret(password)
    sealed: bytes = VaultLib([(name or "default", secret)]).encrypt(text.encode(), secret, vault_id=name)
    return sealed.decode()


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


@pytest.fixture
def passwords(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "password").write_bytes(PASSWORD + b"\n")
    (tmp_path / "text").mkdir()
    return {"site": str(tmp_path / "password")}


@pytest.mark.parametrize("name", [None, "site", "another"])
def test_whole_file_of_variables_gives_its_values_and_not_its_names(
    tmp_path: Path, passwords: dict[str, str], name: str | None
) -> None:
    sealed = vault(
        'database:\n  password: hunter2-hunter2\n  port: 543210\ntokens: ["abc-123-def"]\n', name=name
    )
    (tmp_path / "text" / "secrets.yml").write_text(sealed)
    found = secrets_in(tmp_path / "text", passwords)
    assert {"hunter2-hunter2", "543210", "abc-123-def"} <= found
    assert not {"database", "password", "tokens"} & found


@pytest.mark.parametrize(
    "form",
    [
        "secret: !vault |\n{indented}more: plain\n",
        "- hosts: targets\n  vars:\n    deep:\n      secret: !vault |-\n{indented}    tab: !unsafe '{{ 1 }}'\n",
        "text that is no YAML: [ } :\n{indented}",
        "secret: !vault {quoted}\n",
    ],
)
def test_single_value_is_found_wherever_it_stands(
    tmp_path: Path, passwords: dict[str, str], form: str
) -> None:
    sealed = vault("hunter2-hunter2")
    text = form.replace("{indented}", indented(sealed, 10)).replace("{quoted}", json.dumps(sealed))
    (tmp_path / "text" / "main.yml").write_text(text)
    assert "hunter2-hunter2" in secrets_in(tmp_path / "text", passwords)


def test_every_value_of_a_file_is_found(tmp_path: Path, passwords: dict[str, str]) -> None:
    both = "".join(
        f"secret_{word}: !vault |\n{indented(vault(f'value-{word}'), 2)}" for word in ("one", "two")
    )
    (tmp_path / "text" / "main.yml").write_text(both)
    assert {"value-one", "value-two"} <= secrets_in(tmp_path / "text", passwords)


def test_file_that_is_no_yaml_gives_the_whole_and_what_stands_behind_a_name(
    tmp_path: Path, passwords: dict[str, str]
) -> None:
    (tmp_path / "text" / "key").write_text(vault(KEY))
    (tmp_path / "text" / "environment").write_text(vault("TOKEN='abc-{123}-def'\nexport other: [odd\n"))
    found = secrets_in(tmp_path / "text", passwords)
    assert KEY in found
    assert "abc-{123}-def" in found


def test_vault_that_no_password_opens_stays_shut_and_keeps_nothing_else_from_being_found(
    tmp_path: Path, passwords: dict[str, str]
) -> None:
    (tmp_path / "text" / "a.yml").write_text(vault("shut: hunter3-hunter3", password=b"another-password"))
    (tmp_path / "text" / "b.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00ff\n")
    (tmp_path / "text" / "c.yml").write_text(vault("open: hunter2-hunter2"))
    found = secrets_in(tmp_path / "text", passwords)
    assert "hunter2-hunter2" in found
    assert not any("hunter3" in each for each in found)


def test_without_a_password_nothing_is_looked_for(tmp_path: Path) -> None:
    assert secrets_in(tmp_path / "there is no such folder", {}) == set()


def test_odd_text_is_read_without_a_fuss() -> None:
    assert "[" * 5000 in secrets_of("[" * 5000)
    assert "&a [*a, deep]" in secrets_of("&a [*a, deep]")
    laughs = "\n".join(
        f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9) if n else 'haha-haha'}]" for n in range(40)
    )
    assert "haha-haha" in secrets_of(laughs)
