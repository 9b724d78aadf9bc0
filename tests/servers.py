"""Which PostgreSQL and which broker does a test run use? A pytest plugin, loaded before Django's settings.

Where PORTAL_DATABASE_URL or PORTAL_BROKER_URL is set, that server. Otherwise an embedded one in a temporary
folder, started when the first test asks for it and thrown away at the end. Its address is known before it
runs, so the variables are set at once and settings, workers of xdist and child processes all read them.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.embedded import locations

ROOT = Path(__file__).resolve().parent.parent
DOOR = "QM_TEST_KEEPER"  # the keeper's socket, told to the workers
VAR = "servers"
FILES = "var"  # what the portal itself writes; a worker of xdist has one of its own
STOP_SECONDS = 30
VARIABLES = os.environ  # noqa: TID251 - the plugin prepares what portal.config will read

KEPT = {
    "database": ("PORTAL_DATABASE_URL", locations.database_url),
    "broker": ("PORTAL_BROKER_URL", locations.broker_url),
}
DATABASE_FIXTURE = "django_db_setup"  # pytest-django's: every test that touches the database comes through it


class Run:
    """The controller's part: the temporary folder, and the keeper that ends with it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="qm-test-"))
        self.var_dir = self.home / VAR
        self.keeper: subprocess.Popen[bytes] | None = None
        self.kept = [name for name, (variable, _) in KEPT.items() if not VARIABLES.get(variable)]

    def announce(self) -> None:
        self.var_dir.mkdir(mode=0o700)
        if "PORTAL_VAR_DIR" not in VARIABLES:
            VARIABLES["PORTAL_VAR_DIR"] = str(self.home / FILES)
        VARIABLES[DOOR] = str(self.home / "keeper.sock")
        for name in self.kept:
            variable, address = KEPT[name]
            VARIABLES[variable] = address(self.var_dir)

    def start_keeper(self) -> None:
        words = [sys.executable, "-m", "tests.server_keeper", str(self.var_dir), VARIABLES[DOOR]]
        self.keeper = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
        )

    def end(self) -> None:
        if self.keeper is not None:
            self.keeper.communicate(timeout=STOP_SECONDS)  # closes its input, which tells it to go
            self.keeper = None
        shutil.rmtree(self.home, ignore_errors=True)
        VARIABLES.pop(DOOR, None)


def ensure(name: str) -> None:
    """Make sure that the embedded `database` or `broker` of this run is up; nothing to do for one that is given."""
    door = VARIABLES.get(DOOR)
    variable, address = KEPT[name]
    if door is None or VARIABLES.get(variable) != address(Path(door).parent / VAR):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(door)
        with line.makefile("rw", encoding="utf-8") as talk:
            talk.write(f"{name}\n")
            talk.flush()
            said = talk.readline().strip()
    if said != "ready":
        pytest.fail(f"No {name} for the tests. {said}", pytrace=False)


@pytest.fixture(scope="session")
def broker_url() -> str:
    """The address of a broker that is up."""
    ensure("broker")
    return VARIABLES["PORTAL_BROKER_URL"]


RUN: Run | None = None
if DOOR not in VARIABLES:  # this process is the controller, not a worker of xdist
    RUN = Run()
    atexit.register(RUN.end)  # where pytest gives up before it is configured
    RUN.announce()
elif (worker := VARIABLES.get("PYTEST_XDIST_WORKER")) is not None:
    home = Path(VARIABLES[DOOR]).parent
    if VARIABLES["PORTAL_VAR_DIR"] == str(home / FILES):
        VARIABLES["PORTAL_VAR_DIR"] = str(home / f"{FILES}-{worker}")


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Half as many again as processors: many a test waits for a process, a page or a clock, and does nothing meanwhile."""
    if VARIABLES.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None  # xdist reads it
    return max(2, os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if RUN is None or session.config.option.collectonly:
        return
    signal.signal(signal.SIGTERM, _interrupt)
    RUN.start_keeper()
    assert RUN.keeper is not None
    assert RUN.keeper.stdout is not None
    RUN.keeper.stdout.readline()


def _interrupt(number: int, frame: object) -> None:
    """A polite kill ends the run as Ctrl-C does, with its fixtures torn down."""
    raise KeyboardInterrupt


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[object]:
    if fixturedef.argname == DATABASE_FIXTURE:
        ensure("broker")
        ensure("database")
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    if RUN is not None:
        RUN.end()
