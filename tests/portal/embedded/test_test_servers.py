"""Does a run of tests get servers of its own when it needs them, and leave nothing, however it ends?"""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.embedded import processes
from tests.portal.embedded.conftest import Track

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[3]
SETTINGS = """
import os
from portal.embedded.locations import settings_from_url
DATABASES = {"default": settings_from_url(os.environ["PORTAL_DATABASE_URL"])}
SECRET_KEY = "for tests"
INSTALLED_APPS = []
USE_TZ = True
"""
TESTS = """
import sys, time
import pytest
from django.db import connection

@pytest.mark.django_db
@pytest.mark.parametrize("number", range(3))
def test_database(number):
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        print("database", cursor.fetchone()[0])

def test_nothing():
    pass

@pytest.mark.django_db
def test_slow():
    print("slow", flush=True)
    time.sleep(60)
"""
GIVEN: dict[str, str | None] = {
    "PORTAL_DATABASE_URL": None,
    "PORTAL_BROKER_URL": None,
    "PORTAL_VAR_DIR": None,
    "QM_TEST_KEEPER": None,
    "PYTEST_XDIST_WORKER": None,
    "PYTEST_ADDOPTS": None,
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the other plugins take seconds to load
}

Inner = Callable[..., list[str]]


@pytest.fixture
def inner(tmp_path: Path, short_dir: Path) -> Inner:
    """The command of a small run of pytest whose temporary folders lie in `short_dir`."""
    (tmp_path / "inner_settings.py").write_text(SETTINGS)
    (tmp_path / "test_inner.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nDJANGO_SETTINGS_MODULE = inner_settings\npythonpath = .\n"
    )

    def command(*words: str, **variables: str) -> list[str]:
        argv = [sys.executable, "-m", "pytest", "-p", "tests.servers", "-p", "pytest_django.plugin"]
        argv += ["-p", "xdist.plugin"]
        argv += ["-c", str(tmp_path / "pytest.ini"), "-s", "-p", "no:cacheprovider", *words, str(tmp_path)]
        return processes.with_variables(
            argv, {**GIVEN, "TMPDIR": str(short_dir), "PYTHONPATH": str(tmp_path), **variables}
        )

    return command


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)


def is_clean(folder: Path) -> bool:
    return not list(folder.glob("qm-test-*"))


@pytest.mark.parametrize("workers", [("-n", "0"), ("-n", "2")])
def test_tests_find_a_database_and_nothing_stays(
    inner: Inner, short_dir: Path, workers: tuple[str, ...]
) -> None:
    done = run(inner("-k", "not slow", *workers))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert is_clean(short_dir)


@pytest.mark.parametrize("words", [("--collect-only",), ("--no-such-option",)])
def test_a_run_without_tests_starts_no_server_and_leaves_nothing(
    inner: Inner, short_dir: Path, words: tuple[str, ...]
) -> None:
    run(inner(*words, "-n", "0"))

    assert is_clean(short_dir)


def test_a_database_that_is_given_is_the_one_used(inner: Inner, short_dir: Path) -> None:
    url = f"postgres://nobody@{str(short_dir).replace('/', '%2F')}/given"

    done = run(inner("-k", "database", "-n", "0", "-x", PORTAL_DATABASE_URL=url))

    assert done.returncode == 1
    assert f'"{short_dir}/.s.PGSQL.5432"' in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_broken_off_leaves_no_server(
    inner: Inner, short_dir: Path, track: Track, number: signal.Signals
) -> None:
    argv = inner("-k", "slow", "-n", "0")
    process = track(
        subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
        )
    )
    assert process.stdout is not None
    while (line := process.stdout.readline()) and b"slow" not in line.split():
        pass
    servers = list(short_dir.glob("qm-test-*/servers/postgres/postmaster.pid"))
    assert len(servers) == 1
    server = processes.identify(int(servers[0].read_text().split()[0]))
    assert server is not None

    process.send_signal(number)

    assert processes.wait_until(lambda: not server.alive and is_clean(short_dir), 20)
