"""Whose reply is it, to which request, and who may read it? A signed address per person, request and audience. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

_MAC = 12
_VERSION = 0x10
_LENGTH = 1 + 5 + 5 + _MAC
_LOCAL = re.compile(r"(?P<what>reply|bounce)\+(?P<token>[a-z2-7]{20,50})@", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """A person's answer to a request's mail; internal when that mail was for infra staff alone. No ticket: 0."""

    ticket: int
    user: int
    internal: bool


def write(reply: Reply, *, key: bytes) -> str:
    """The token: small letters and digits only, because some servers don't keep capitals."""
    body = (
        bytes([_VERSION | int(reply.internal)])
        + reply.ticket.to_bytes(5, "big")
        + reply.user.to_bytes(5, "big")
    )
    return base64.b32encode(body + _mac(body, key)).decode().rstrip("=").lower()


def read(token: str, *, key: bytes) -> Reply | None:
    """What the token says; None for one that isn't ours."""
    padded = token.upper() + "=" * (-len(token) % 8)
    try:
        raw = base64.b32decode(padded)
    except ValueError:
        return None
    if len(raw) != _LENGTH:
        return None
    body, mac = raw[:-_MAC], raw[-_MAC:]
    if not hmac.compare_digest(mac, _mac(body, key)) or body[0] & 0xF0 != _VERSION:
        return None
    return Reply(int.from_bytes(body[1:6], "big"), int.from_bytes(body[6:11], "big"), bool(body[0] & 1))


def address(what: str, reply: Reply, *, key: bytes, domain: str) -> str:
    """`reply+TOKEN@domain`, or `bounce+TOKEN@domain` for the envelope."""
    return f"{what}+{write(reply, key=key)}@{domain}"


def find(addresses: tuple[str, ...], *, what: str, key: bytes) -> Reply | None:
    """The first address of that kind whose token is ours."""
    for each in addresses:
        match = _LOCAL.match(each)
        if match and match["what"].lower() == what:
            found = read(match["token"].lower(), key=key)
            if found is not None:
                return found
    return None


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, b"quartermaster reply\x00" + body, hashlib.sha256).digest()[:_MAC]
