"""An operator runs a playbook by hand: fills the form, looks at the waves, starts it, and takes it on after a pause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import transaction

from portal.accounts.models import User
from provisioning.jobs.models import Job
from provisioning.jobs.states import Ending
from tests.browser.chromium import WIDE, Browser
from tests.provisioning.builders import end, some_nodes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PICTURES = Path(__file__).resolve().parents[2] / "var" / "screenshots"


def test_run_is_looked_at_started_paused_and_resumed(
    browser: Browser, sign_in: Callable[[User], None], operator: User
) -> None:
    some_nodes(8)
    sign_in(operator)
    browser.screen(WIDE, dark=False)
    browser.open("/jobs/run/")
    browser.find("#id_purpose").send_keys("After the new kernel line")
    browser.find("button[name=look]").click()
    browser.wait_for("So it would go")
    browser.wait_for("2: up to 50 %")
    browser.picture(PICTURES / "job-by-hand-looked-at-light-1440.png")
    browser.find("button[name=start]").click()
    browser.wait_for("is done")
    whole = Job.objects.get(whole=None)
    with transaction.atomic():
        end(whole.shards.get())
        second = whole.shards.get(ended_at=None)
        end(second, {"gpu-002": Ending.FAILED, "gpu-003": Ending.FAILED})
    browser.wait_for("resume runs the 4 that remain")
    browser.find("input[name=again]").click()
    browser.find("form[action$=resume] button").click()
    browser.wait_for("what failed, again")
    whole.refresh_from_db()
    assert (whole.status, whole.wave) == ("spread", 3)
    assert browser.complaints() == []
