"""How does a secret lie in the database? Sealed by a key of its own, for its row and its field; moved elsewhere it opens no more.

AES-256-GCM (NIST SP 800-38D) with a key derived from a root key by HKDF-SHA-256 (RFC 5869) over row and field, and both
again as associated data. A sealed text is `1.ROOT.NONCE+TEXT`, where ROOT names the root key without telling it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

VERSION = "1"
SHORTEST_ROOT = 32
_NONCE = 12


class CantOpen(Exception):
    """No root key of ours opens it, or it was changed or moved."""


def seal(text: str, *, row: str, field: str, roots: Sequence[str]) -> str:
    """Seal `text` with the newest root key, the first of `roots`."""
    root = roots[0]
    nonce = os.urandom(_NONCE)
    sealed = AESGCM(_key(root, row, field)).encrypt(nonce, text.encode("utf-8"), _place(root, row, field))
    return f"{VERSION}.{name_of(root)}.{base64.b64encode(nonce + sealed).decode('ascii')}"


def unseal(sealed: str, *, row: str, field: str, roots: Sequence[str]) -> str:
    """The text again. CantOpen when nothing of ours opens it."""
    version, _, rest = sealed.partition(".")
    name, _, body = rest.partition(".")
    root = next((each for each in roots if name_of(each) == name), None)
    if version != VERSION or root is None:
        raise CantOpen(f"it was sealed with a root key {name[:16]!r} that is not configured")
    try:
        raw = base64.b64decode(body, validate=True)
        opened = AESGCM(_key(root, row, field)).decrypt(raw[:_NONCE], raw[_NONCE:], _place(root, row, field))
    except (InvalidTag, ValueError) as problem:
        raise CantOpen("it was changed, or belongs to another row") from problem
    return opened.decode("utf-8")


def is_current(sealed: str, *, roots: Sequence[str]) -> bool:
    """True when it was sealed with the newest root key."""
    return sealed.startswith(f"{VERSION}.{name_of(roots[0])}.")


def name_of(root: str) -> str:
    """What names a root key in public."""
    return hashlib.sha256(_derive(root, b"name")).hexdigest()[:12]


def _key(root: str, row: str, field: str) -> bytes:
    return _derive(root, b"key\0" + _both(row, field))


def _place(root: str, row: str, field: str) -> bytes:
    return name_of(root).encode("ascii") + b"\0" + _both(row, field)


def _both(row: str, field: str) -> bytes:
    return row.encode("utf-8") + b"\0" + field.encode("utf-8")


def _derive(root: str, told: bytes) -> bytes:
    info = b"quartermaster credentials\0" + told
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(root.encode("utf-8"))
