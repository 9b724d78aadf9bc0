"""Does the embedded broker start, keep what it holds over a restart, and speak with Celery's transport?"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from kombu import Connection

from portal.embedded import locations, processes, valkey
from portal.embedded.valkey import Valkey
from tests.portal.embedded.conftest import Track

pytestmark = pytest.mark.embedded

Start = Callable[[Path], subprocess.Popen[bytes]]


@pytest.fixture
def start(track: Track) -> Start:
    def begin(var_dir: Path) -> subprocess.Popen[bytes]:
        var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        server = Valkey.of(var_dir)
        server.prepare()
        process = track(server.spawn(subprocess.DEVNULL))
        assert valkey.wait_until_ready(server, process)
        return process

    return begin


def client(var_dir: Path) -> "redis.Redis":
    return redis.Redis(unix_socket_path=str(locations.broker_socket(var_dir)))


def stop(process: subprocess.Popen[bytes]) -> None:
    found = processes.identify(process.pid)
    assert found is not None
    assert processes.end(found, valkey.STOP, gone=lambda: process.poll() is not None)


def test_a_message_sent_through_celerys_transport_arrives(short_dir: Path, start: Start) -> None:
    start(short_dir / "var")

    with Connection(locations.broker_url(short_dir / "var")) as connection:
        queue = connection.SimpleQueue("doorbell")
        queue.put({"ring": 1})
        message = queue.get(timeout=5)
        message.ack()
        queue.close()

    assert message.payload == {"ring": 1}


def test_messages_survive_a_restart(short_dir: Path, start: Start) -> None:
    process = start(short_dir / "var")
    with client(short_dir / "var") as connection:
        connection.set("kept", "1")
    stop(process)

    start(short_dir / "var")

    with client(short_dir / "var") as connection:
        assert connection.get("kept") == b"1"


def test_a_full_broker_refuses_instead_of_forgetting(short_dir: Path, start: Start) -> None:
    start(short_dir / "var")

    with client(short_dir / "var") as connection:
        assert connection.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_the_broker_listens_on_no_port_and_its_socket_is_private(short_dir: Path, start: Start) -> None:
    start(short_dir / "var")

    with client(short_dir / "var") as connection:
        assert connection.config_get("port") == {"port": "0"}
    assert locations.broker_socket(short_dir / "var").stat().st_mode & 0o077 == 0


def test_a_broker_that_was_killed_starts_again_over_its_stale_socket(short_dir: Path, start: Start) -> None:
    process = start(short_dir / "var")
    process.kill()
    process.wait()
    assert locations.broker_socket(short_dir / "var").exists()

    start(short_dir / "var")

    with client(short_dir / "var") as connection:
        assert connection.ping()


def test_a_var_with_odd_signs_in_its_path_works(short_dir: Path, start: Start) -> None:
    var_dir = short_dir / 'a "b" \\c, größe'
    try:
        start(var_dir)

        with Connection(locations.broker_url(var_dir)) as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
    finally:
        shutil.rmtree(locations.runtime_dir(var_dir), ignore_errors=True)
