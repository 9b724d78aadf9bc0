"""May the portal call this address, and how does it call it safely? https to the public internet, checked and then called by number."""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 10
PORTS = (443, 8443)
MOST_READ = 1024
_BROADER = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


class Refused(Exception):
    """An address that the portal does not call; the message says why, and nothing of what is there."""


@dataclass(frozen=True)
class Destination:
    """Where a call goes: a number that was checked, under the name it was asked for."""

    https: bool
    host: str
    port: int
    path: str
    number: str


def is_global(number: str) -> bool:
    """True for an address of the public internet; not for what only looks like one."""
    found = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        elif any(found in net for net in _BROADER):
            return False
    return found.is_global and not found.is_multicast


def complaint(url: str, *, allowed: Collection[str] = ()) -> str | None:
    """What is wrong with an address as it is written; None when it may be tried."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "This is no address."
    if not host or parts.username is not None or parts.password is not None:
        return "Use https://host/path, without a user name."
    if any(ord(each) <= 32 or ord(each) == 127 for each in url):
        return "It holds a space or a control character."
    if f"{host}:{port}" in allowed and parts.scheme in ("http", "https"):
        return None
    if parts.scheme != "https":
        return "Use an address that begins with https://."
    if (port or 443) not in PORTS:
        return "Use port 443 or 8443."
    return None


def resolve(url: str, *, allowed: Collection[str] = ()) -> Destination:
    """Look the host up and check every number it has; Refused when one of them isn't public."""
    said = complaint(url, allowed=allowed)
    if said is not None:
        raise Refused(said)
    parts = urlsplit(url)
    host, https = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if https else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise Refused("The host of this address is not found.") from problem
    numbers = [str(each[4][0]) for each in found]
    if f"{host}:{parts.port}" not in allowed and not all(is_global(number) for number in numbers):
        raise Refused("The host of this address is not on the public internet.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(https=https, host=host, port=port, path=path, number=numbers[0])


def post_json(url: str, body: Mapping[str, Any], *, allowed: Collection[str] = ()) -> int:
    """POST and return the status. No redirect is followed, no proxy asked, and no more than 1 kB of the answer read."""
    to = resolve(url, allowed=allowed)
    connection = _Pinned(to)
    try:
        headers = {"Content-Type": "application/json", "User-Agent": "Quartermaster"}
        connection.request("POST", to.path, json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        answer.read(MOST_READ)
        return answer.status
    finally:
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """Connects to the number that was checked, and asks it for the certificate of the name."""

    def __init__(self, to: Destination) -> None:
        super().__init__(to.host, to.port, timeout=TIMEOUT)
        self._to = to

    def connect(self) -> None:
        """To the number; looked up again it could be another."""
        plain = socket.create_connection((self._to.number, self._to.port), timeout=TIMEOUT)
        if self._to.https:
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self._to.host)
        else:
            self.sock = plain
