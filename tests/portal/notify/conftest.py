"""People with addresses, a ticket of theirs, and a mail server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel import clock
from portal.ledger.dispatch import deliver_all
from portal.notify.sending import deliver_due
from requests_app.tickets.models import Ticket
from tests.portal.notify.smtp_server import Server, smtp_server
from tests.requests_app.tickets.conftest import blocked, desk, ready, ticket, waiting

__all__ = ["blocked", "desk", "ready", "ticket", "waiting"]


@pytest.fixture(autouse=True)
def addresses(team: Team, member: User, lead: User, triager: User, operator: User) -> None:
    for person in (member, lead, triager, operator):
        person.email = f"{person.username}@example.org"
        person.save(update_fields=["email"])


@pytest.fixture(autouse=True)
def mail_settings(settings: Any, tmp_path: Any) -> None:
    settings.MAIL_FROM = "Quartermaster <qm@portal.example>"
    settings.PUBLIC_URL = "https://portal.example"
    settings.ATTACHMENTS_DIR = tmp_path / "files"


@pytest.fixture
def smtp(settings: Any) -> Iterator[Server]:
    with smtp_server() as server:
        settings.MAIL_URL = server.url
        yield server


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let time pass: `later(seconds=30)`."""
    passed = timedelta()
    real = clock.now

    def pass_by(**span: float) -> None:
        nonlocal passed
        passed += timedelta(**span)
        import sys

        for name, module in list(sys.modules.items()):
            if name.startswith(("portal.", "requests_app.")) and getattr(module, "now", None) in seen:
                monkeypatch.setattr(module, "now", shifted)

    def shifted() -> Any:
        return real() + passed

    seen = (real, shifted)
    return pass_by


@pytest.fixture
def go(later: Callable[..., None]) -> Callable[[], int]:
    """React to everything, wait until it may leave, and send."""

    def all_of_it() -> int:
        deliver_all()
        later(seconds=100)
        return deliver_due()

    return all_of_it


def settled(ticket: Ticket) -> Ticket:
    """Its filing is old news."""
    deliver_all()
    return Ticket.objects.get(pk=ticket.pk)
