"""The portal's Celery app with one more playbook, for workers that a test starts and kills."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

import django
from django.conf import settings

from portal.celery import app

__all__ = ["app"]

django.setup()

from provisioning.jobs import playbooks  # noqa: E402 - needs the settings
from tests.provisioning.jobs.conftest import Told  # noqa: E402

FOLDER = os.environ["QM_CHAOS_ANSIBLE"]  # noqa: TID251 - a test's own
settings.ANSIBLE_DIR = Path(FOLDER)
settings.JOB_KEEPER = [sys.executable, "-m", "tests.chaos.keeper_app"]
playbooks.REGISTRY["tiny"] = playbooks.Playbook(
    name="tiny",
    title="A small playbook",
    file="tiny.yml",
    variables=Told,
    timeout=timedelta(minutes=5),
    idle=timedelta(minutes=5),
)
