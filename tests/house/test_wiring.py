"""Every event is followed by something, or by nothing on purpose."""

from __future__ import annotations

from types import ModuleType

from portal.accounts import events as accounts
from portal.notify import events as notify
from portal.wiring import NOBODY, REACTIONS
from provisioning import events as provisioning
from requests_app import events as requests_app


def names(module: ModuleType) -> set[str]:
    return {value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}


EVENTS = names(accounts) | names(notify) | names(provisioning) | names(requests_app)


def test_every_event_is_wired_or_nobodys_on_purpose() -> None:
    assert EVENTS - set(REACTIONS) - NOBODY == set()


def test_nothing_is_wired_that_is_never_recorded() -> None:
    assert (set(REACTIONS) | NOBODY) - EVENTS == set()


def test_no_event_is_both() -> None:
    assert set(REACTIONS) & NOBODY == set()


def test_table_stays_readable() -> None:
    from portal import wiring

    assert wiring.__file__ is not None
    with open(wiring.__file__, encoding="utf-8") as source:  # noqa: PTH123
        assert len(source.readlines()) <= 120
