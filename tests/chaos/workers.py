"""How does a test start a Celery worker that it may kill, and wait for what the worker does?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from django.conf import settings as django_settings

from portal.embedded import processes
from tests.addresses import database_url
from tests.provisioning.jobs.conftest import Tiny

LEASE = 6
PATIENCE = 300


class Worker:
    """A Celery worker of the portal in a process group of its own."""

    def __init__(
        self, tiny: Tiny, var_dir: Path, broker_url: str, log: Path, queues: str = "jobs,doorbell"
    ) -> None:
        environment = {
            **os.environ,  # noqa: TID251 - a process needs its environment
            "PORTAL_DATABASE_URL": database_url(),
            "PORTAL_BROKER_URL": broker_url,
            "PORTAL_VAR_DIR": str(var_dir),
            "PORTAL_JOB_LEASE_SECONDS": str(LEASE),
            "QM_CHAOS_ANSIBLE": str(tiny.file.parent.parent),
        }
        words = [
            "-A",
            "tests.chaos.worker_app",
            "worker",
            "-Q",
            queues,
            "-c",
            "1",
            "--without-mingle",
        ]
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "celery", *words],
                cwd=django_settings.BASE_DIR,
                env=environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Without a word, it and its pool."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    assert processes.wait_until(condition, PATIENCE), f"after {PATIENCE} s still not so: {what}"
