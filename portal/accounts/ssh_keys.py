"""Is this a public SSH key that may be put on a node? Pure: shape, kind and length; comments are cut to plain letters."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
MOST_KEYS = 20
LEAST_RSA_BITS = 2048
LONGEST_LINE = 4096
_UNPLAIN = re.compile(r"[^A-Za-z0-9@._+-]+")


class KeyComplaint(ValueError):
    """A text that holds something else than public keys; `complaints` say which line and why."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = complaints


@dataclass(frozen=True)
class PublicKey:
    """One key as it is written into authorized_keys."""

    kind: str
    body: str
    comment: str

    @property
    def line(self) -> str:
        """`ssh-ed25519 AAAA… name@host`, without options."""
        return " ".join(part for part in (self.kind, self.body, self.comment) if part)

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def parse_keys(text: str) -> tuple[PublicKey, ...]:
    """The keys in `text`, one a line, each once; KeyComplaint names every line that isn't one."""
    if "PRIVATE KEY" in text:
        raise KeyComplaint(
            ["That is a private key. It is no longer private: make a new pair and paste the .pub file."]
        )
    found: dict[str, PublicKey] = {}
    complaints: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key = parse_key(line)
        except ValueError as problem:
            complaints.append(f"Line {number}: {problem}")
        else:
            found.setdefault(key.body, key)
    if len(found) > MOST_KEYS:
        complaints.append(f"{len(found)} keys are too many; {MOST_KEYS} is the most.")
    if complaints:
        raise KeyComplaint(complaints)
    return tuple(found.values())


def parse_key(line: str) -> PublicKey:
    """One line of a .pub file; ValueError says what is wrong with it."""
    parts = line.split(maxsplit=2)
    if len(line) > LONGEST_LINE or len(parts) < 2 or parts[0] not in KINDS:
        raise ValueError("a line is `ssh-ed25519 AAAA… comment`, without options before it.")
    kind, body = parts[:2]
    try:
        key = load_ssh_public_key(f"{kind} {body}".encode("ascii"))
    except (ValueError, UnsupportedAlgorithm, UnicodeEncodeError) as problem:
        raise ValueError(f"this is not a whole {kind} key.") from problem
    if isinstance(key, RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        raise ValueError(f"an RSA key of {key.key_size} bits is too short; use ed25519.")
    comment = _UNPLAIN.sub("-", parts[2]).strip("-")[:80] if len(parts) > 2 else ""
    return PublicKey(kind, body, comment)
