"""What lies on the desk in the demonstration: filed over HTTP as anybody would, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from portal.demo import cast, morning
from requests_app.negotiation.models import Offer
from requests_app.tickets.models import Ticket
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Replacement
from tests.builders import a_catalogue, a_sku

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_morning_brings_a_block_a_workaround_an_offer_and_what_waits(
    live_server: LiveServer, tmp_path: Path
) -> None:
    a_sku()
    a_catalogue()
    logins = cast.prepare(tmp_path)
    said: list[str] = []
    morning.set_out(live_server.url, logins, say=said.append)

    assert [line for line in said if line.startswith("left out")] == []
    assert sorted(Ticket.objects.values_list("status", flat=True)) == ["offered", *["submitted"] * 3]
    assert Ticket.objects.filter(blocked_since__isnull=False).count() == 2
    assert Workaround.objects.get().ticket.status == "submitted"
    assert Replacement.objects.count() == 1
    assert Offer.objects.get().status == "open"


def test_the_same_morning_again_does_nothing_twice(live_server: LiveServer, tmp_path: Path) -> None:
    a_sku()
    a_catalogue()
    logins = cast.prepare(tmp_path)
    for _ in range(2):
        morning.set_out(live_server.url, logins, say=str)
    assert (Ticket.objects.count(), Offer.objects.count(), Workaround.objects.count()) == (4, 1, 1)
