"""On which port does the web server listen?

The supervisor opens the socket itself and hands it to the web server: no other program can take the port
between the look and the start, and while the web server is started again, browsers wait instead of failing.
"""

import errno
import socket

from portal.embedded.errors import StartError

FIRST = 8000
TRIED = 100
BACKLOG = 512


def listen(host: str, wanted: int | None) -> socket.socket:
    """A listening socket on the wanted port, or without a wish on the first free one from 8000 on."""
    if wanted is not None:
        found = _try(host, wanted)
        if found is None:
            raise StartError(
                f"Port {wanted} on {host} is in use by another program: "
                "stop that one, or set PORTAL_PORT to another port"
            )
        return found
    for port in range(FIRST, FIRST + TRIED):
        found = _try(host, port)
        if found is not None:
            return found
    raise StartError(f"No port from {FIRST} to {FIRST + TRIED - 1} is free on {host}: set PORTAL_PORT to one")


def is_free(host: str, port: int) -> bool:
    found = _try(host, port)
    if found is not None:
        found.close()
    return found is not None


def _try(host: str, port: int) -> socket.socket | None:
    """None when the port is in use; an address that is not of this machine is no question of the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as problem:
        raise StartError(f"PORTAL_HOST is {host}, which is no address: {problem.strerror}") from problem
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        if problem.errno == errno.EADDRINUSE:
            return None
        if problem.errno == errno.EACCES:
            raise StartError(f"Port {port} needs root: set PORTAL_PORT to 1024 or more") from problem
        raise StartError(f"{host} can't be listened on: {problem.strerror}") from problem
    return listener


def url(host: str, port: int) -> str:
    """Where a browser on this machine reaches a server that listens on `host`."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - read, not bound
    reachable = everywhere.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"
