"""Which programs make up the portal on one machine, in which order, and how does each of them end?"""

import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from portal.config import Config
from portal.embedded import postgres, processes, valkey
from portal.embedded.postgres import Postgres
from portal.embedded.processes import Stage
from portal.embedded.valkey import Valkey
from provisioning.workers.machine import this_machine
from provisioning.workers.routing import Work, read_sites
from provisioning.workers.starting import celery_words

# Programs start from tier 0 upwards and end from the highest downwards; those of one tier end together.
DATABASE, BROKER, WORKERS, BEAT, WEB = range(5)

WEB_STOP = (Stage(signal.SIGTERM, 8.0), processes.KILL)  # serve.py cuts open streams off after 3 s
BEAT_STOP = (Stage(signal.SIGTERM, 5.0), processes.KILL)
WORKER_STOP = (Stage(signal.SIGTERM, 20.0), Stage(signal.SIGQUIT, 5.0), processes.KILL)
"""Celery's warm shutdown lets tasks finish, its cold one (QUIT) ends them."""

WORKS = ((Work.DOORBELL, Work.LOOKS), (Work.JOBS,))
"""What each worker does: short work never waits behind long work."""
AS_ROOT = "ignore::UserWarning:celery.platforms"  # Celery warns root, whom the portal supports


@dataclass(frozen=True)
class Program:
    """A command that is kept running."""

    name: str
    tier: int
    argv: tuple[str, ...]
    stages: tuple[Stage, ...] = (Stage(signal.SIGTERM, 5.0), processes.KILL)
    folder: Path = Path("/")
    variables: Mapping[str, str | None] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    before_start: Callable[[], None] = lambda: None
    is_ready: Callable[[], bool] = lambda: True
    may_be_hurried: bool = True
    on_screen: bool = True


def database(server: Postgres) -> Program:
    return Program(
        name="postgres",
        tier=DATABASE,
        argv=tuple(server.argv()),
        stages=postgres.STOP,
        identity=server.owner.identity(),
        before_start=server.prepare,
        is_ready=server.is_ready,
        may_be_hurried=False,
        on_screen=False,
    )


def broker(server: Valkey) -> Program:
    return Program(
        name="broker",
        tier=BROKER,
        argv=tuple(server.argv()),
        stages=valkey.STOP,
        before_start=server.prepare,
        is_ready=server.is_ready,
        may_be_hurried=False,
        on_screen=False,
    )


def portal(config: Config, *, listener: socket.socket) -> list[Program]:
    """The portal's own processes, in the order of their start; the web server answers on `listener`."""
    variables = variables_for(config, port=listener.getsockname()[1])
    beat = ("beat", "--schedule", str(config.var_dir / "beat-schedule"), "--pidfile=")
    web = ("-m", "portal.embedded.serve", str(listener.fileno()), config.log_level)
    return [
        *workers(config, variables),
        _python("beat", BEAT, BEAT_STOP, config, variables, *_celery(config, *beat)),
        replace(_python("web", WEB, WEB_STOP, config, variables, *web), descriptors=(listener.fileno(),)),
    ]


def workers(config: Config, variables: Mapping[str, str | None]) -> list[Program]:
    """For the sites of this machine, with as many slots as are set or as it bears."""
    return [_worker(works, config, variables) for works in WORKS]


def manage(config: Config, *words: str, port: int) -> Program:
    """A command of manage.py that runs once."""
    variables = variables_for(config, port=port)
    return _python("setup", WEB, BEAT_STOP, config, variables, str(config.base_dir / "manage.py"), *words)


def variables_for(config: Config, *, port: int) -> dict[str, str | None]:
    """What a child must know beyond what it inherits. No secret stands here.

    Prices may be the demonstration's instead of the environment's. A URL that this Config does not have is taken away, since the environment may name one all the same.
    """
    variables: dict[str, str | None] = {
        "PORTAL_VAR_DIR": str(config.var_dir),
        "PORTAL_HOST": config.host,
        "PORTAL_PORT": str(port),
        "PORTAL_GPU_HOUR_PRICES": ", ".join(f"{sku}={price}" for sku, price in config.gpu_hour_prices),
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
    }
    for name, url in (("DATABASE", config.database_url), ("BROKER", config.broker_url)):
        if url is None:
            variables |= {f"PORTAL_{name}_URL": None, f"PORTAL_{name}_URL_FILE": None}
    return variables


def _worker(works: tuple[Work, ...], config: Config, variables: Mapping[str, str | None]) -> Program:
    slots = config.worker_slots if Work.JOBS in works else None
    words = celery_words(works, sites=read_sites(config.worker_sites), slots=slots, machine=this_machine())
    return _python(works[0].value, WORKERS, WORKER_STOP, config, variables, *_celery(config, *words))


def _celery(config: Config, *words: str) -> tuple[str, ...]:
    return ("-W", AS_ROOT, "-m", "celery", "-q", "-A", "portal", *words, "-l", config.log_level)


def _python(
    name: str,
    tier: int,
    stages: tuple[Stage, ...],
    config: Config,
    variables: Mapping[str, str | None],
    *words: str,
) -> Program:
    argv = (sys.executable, *words)
    return Program(name, tier, argv, stages=stages, folder=config.base_dir, variables=variables)
