"""Which texts are public keys that may be put on a node?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.ssh_keys import MOST_KEYS, KeyComplaint, parse_key, parse_keys


def line_of(key: object) -> str:
    """The line of a .pub file."""
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def an_ed25519() -> str:
    return line_of(ed25519.Ed25519PrivateKey.generate())


@pytest.mark.parametrize("make", [an_ed25519, lambda: line_of(ec.generate_private_key(ec.SECP256R1()))])
def test_person_gives_a_modern_key(make: object) -> None:
    line = make()
    assert parse_key(f"{line} laptop").line == f"{line} laptop"


def test_person_gives_an_rsa_key_of_enough_bits() -> None:
    assert parse_key(line_of(rsa.generate_private_key(65537, 2048))).kind == "ssh-rsa"


def test_rsa_key_of_too_few_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="1024 bits is too short"):
        parse_key(line_of(rsa.generate_private_key(65537, 1024)))  # noqa: S505 - that is the point


def test_dsa_key_is_refused() -> None:
    with pytest.raises(ValueError, match="without options"):
        parse_key("ssh-dss AAAAB3NzaC1kc3MAAACBAP laptop")


def test_key_of_a_security_token_is_taken() -> None:
    body = (
        "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIJ9O8J4dYlJlJlJlJlJlJlJlJlJlJlJlJlJlJlJlJlJlAAAABHNzaDo="
    )
    try:
        key = parse_key(f"sk-ssh-ed25519@openssh.com {body} token")
    except ValueError:
        pytest.fail("keys of security tokens are what we ask people to use")
    assert key.kind == "sk-ssh-ed25519@openssh.com"


@pytest.mark.parametrize(
    "option", ['command="sh" ', "no-pty ", 'from="10.0.0.1" ', "cert-authority ", "environment=X=1 "]
)
def test_options_before_a_key_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match="without options"):
        parse_key(option + an_ed25519())


def test_private_key_is_refused_with_advice() -> None:
    private = ed25519.Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    with pytest.raises(KeyComplaint, match="no longer private"):
        parse_keys(private.decode())


def test_broken_line_is_named_by_its_number() -> None:
    with pytest.raises(KeyComplaint) as refused:
        parse_keys(f"# mine\n{an_ed25519()}\nssh-ed25519 AAAA\nhello")
    assert [text.split(":")[0] for text in refused.value.complaints] == ["Line 3", "Line 4"]


def test_same_key_twice_is_one_key() -> None:
    line = an_ed25519()
    assert len(parse_keys(f"{line} one\n{line} two\n")) == 1


def test_too_many_keys_are_refused() -> None:
    text = "\n".join(an_ed25519() for _ in range(MOST_KEYS + 1))
    with pytest.raises(KeyComplaint, match="too many"):
        parse_keys(text)


@pytest.mark.parametrize(
    "comment", ["{{ lookup('pipe','id') }}", "a\u202eb", "x'; rm -rf /", "{% raw %}", "name\x00", "$(id)"]
)
def test_comment_is_cut_to_plain_letters(comment: str) -> None:
    assert set(parse_key(f"{an_ed25519()} {comment}").comment) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-"
    )


@given(st.text(max_size=200))
def test_any_text_gives_keys_or_a_complaint(text: str) -> None:
    try:
        parse_keys(text)
    except KeyComplaint as refused:
        assert refused.complaints  # noqa: PT017 - either way is right, silence is not


def test_fingerprint_is_what_ssh_keygen_prints(tmp_path: Path) -> None:
    line = an_ed25519()
    path = tmp_path / "key.pub"
    path.write_text(f"{line} laptop\n")
    try:
        said = subprocess.run(["ssh-keygen", "-lf", path], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("no ssh-keygen on this machine")
    assert said.split()[1] == parse_key(line).fingerprint
