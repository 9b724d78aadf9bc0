"""Where do the servers of one machine keep their files and sockets, and by which address are they reached?

Everything here follows from the folder `var` alone, so that every process of the portal finds the servers
without asking anybody. Nothing is created or started here.
"""

import hashlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

DATABASE = "quartermaster"
ROLE = "quartermaster"

POSTGRES_PORT = 5432  # only a part of the socket's name: the server listens on no network address
POSTGRES_SOCKET = f".s.PGSQL.{POSTGRES_PORT}"
BROKER_SOCKET = "broker.sock"

# sun_path holds 104 bytes on macOS and 108 on Linux, the closing NUL included. The shorter one counts
# everywhere, and PostgreSQL's lock file beside the socket has the longest name of all.
SOCKET_PATH_LIMIT = 103
LONGEST_SOCKET_NAME = f"{POSTGRES_SOCKET}.lock"

PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+-]+")

# Not tempfile.gettempdir(): that follows TMPDIR, which two processes of the same portal may see differently.
SHORT_PARENT = Path("/tmp")  # noqa: S108 - the folder below it is 0700 and checked for its owner


def postgres_dir(var_dir: Path) -> Path:
    """The database's files; a symbolic link where a dedicated system user has to own them."""
    return var_dir / "postgres"


def broker_dir(var_dir: Path) -> Path:
    return var_dir / "broker"


def log_dir(var_dir: Path) -> Path:
    return var_dir / "log"


def lock_file(var_dir: Path) -> Path:
    """Held by flock as long as a supervisor lives on this var."""
    return var_dir / "supervisor.lock"


def state_file(var_dir: Path) -> Path:
    """Who supervises this var and which processes it started."""
    return var_dir / "supervisor.json"


def runtime_dir(var_dir: Path) -> Path:
    """The sockets' folder: var/run, or a short one under /tmp when that path can't stand in an address.

    It may be too long, or hold what URLs and libpq (a comma separates hosts) read differently.
    """
    inside = var_dir.absolute() / "run"
    short_enough = len(str(inside / LONGEST_SOCKET_NAME).encode()) <= SOCKET_PATH_LIMIT
    if short_enough and PLAIN_PATH.fullmatch(str(inside)):
        return inside
    fingerprint = hashlib.sha256(str(var_dir.absolute()).encode()).hexdigest()[:16]
    return SHORT_PARENT / f"qm-{fingerprint}"


def postgres_socket(var_dir: Path) -> Path:
    return runtime_dir(var_dir) / POSTGRES_SOCKET


def broker_socket(var_dir: Path) -> Path:
    return runtime_dir(var_dir) / BROKER_SOCKET


def database_url(var_dir: Path, *, database: str = DATABASE) -> str:
    """As libpq reads it too: the socket's folder, percent-encoded, stands in the place of a host."""
    folder = quote(str(runtime_dir(var_dir)), safe="")
    return f"postgres://{ROLE}@{folder}:{POSTGRES_PORT}/{database}"


def broker_url(var_dir: Path) -> str:
    """As Celery reads it."""
    return f"redis+socket://{quote(str(broker_socket(var_dir)))}?virtual_host=0"


def database_settings(var_dir: Path) -> dict[str, Any]:
    """The entry of Django's DATABASES for the embedded PostgreSQL."""
    return settings_from_url(database_url(var_dir))


def settings_from_url(url: str) -> dict[str, Any]:
    """The entry of Django's DATABASES for `postgres://user:password@host:port/name?sslmode=…`.

    A socket's folder may stand percent-encoded in the place of the host or as `?host=/folder`; any other
    parameter of the query goes to libpq as it is.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(
            f"A database URL begins with postgres://, this one with {parts.scheme or 'nothing'}://"
        )
    query = dict(parse_qsl(parts.query))
    host = query.pop("host", "") or _host_of(parts.netloc)
    port = query.pop("port", "") or str(parts.port or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or DATABASE,
        "USER": query.pop("user", "") or unquote(parts.username or ""),
        "PASSWORD": query.pop("password", "") or unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "OPTIONS": query,
    }


def _host_of(netloc: str) -> str:
    """The host with its capitals: urlsplit's own `hostname` is lower case, which a folder must not become."""
    place = netloc.rpartition("@")[2]
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return unquote(place.partition(":")[0])
