"""How is an API token made and read? Pure: `qm_pat_<10 public id>_<32 secret><6 checksum>`, base62 throughout."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from dataclasses import dataclass

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
PREFIX = "qm_pat_"
ID_LENGTH, SECRET_LENGTH, CHECK_LENGTH = 10, 32, 6
_SHAPE = re.compile(
    rf"\A{PREFIX}([0-9A-Za-z]{{{ID_LENGTH}}})_([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{{CHECK_LENGTH}}})\Z"
)

_ANYWHERE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{ID_LENGTH}}}_[0-9A-Za-z]{{{SECRET_LENGTH + CHECK_LENGTH}}}")
LONGEST = len(PREFIX) + ID_LENGTH + 1 + SECRET_LENGTH + CHECK_LENGTH


@dataclass(frozen=True, repr=False)
class TokenText:
    """A token in its parts. Its repr shows no secret."""

    public_id: str
    secret: str

    @property
    def text(self) -> str:
        """What the client sends."""
        body = f"{PREFIX}{self.public_id}_{self.secret}"
        return body + _check(body)

    @property
    def secret_hash(self) -> str:
        """What the database keeps. The secret has 190 bits, so a plain hash can't be searched."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"TokenText({PREFIX}{self.public_id}_…)"


def make_token() -> TokenText:
    """A new token of the system's randomness."""
    return TokenText(_letters(ID_LENGTH), _letters(SECRET_LENGTH))


def read_token(raw: str) -> TokenText | None:
    """The parts of `raw`, None when its shape or its checksum is wrong: a typo costs no query."""
    match = _SHAPE.match(raw)
    if match is None or _check(raw[:-CHECK_LENGTH]) != match[3]:
        return None
    return TokenText(match[1], match[2])


def tokens_in(text: str) -> list[TokenText]:
    """Every token in `text` whose checksum is right, each once."""
    read = (read_token(match[0]) for match in _ANYWHERE.finditer(text))
    return list({token.public_id: token for token in read if token is not None}.values())


def _letters(count: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(count))


def _check(body: str) -> str:
    """CRC-32 in base62: scanners of leaked secrets can tell a real token from a look-alike."""
    number = zlib.crc32(body.encode())
    letters = ""
    for _ in range(CHECK_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        letters = ALPHABET[digit] + letters
    return letters
