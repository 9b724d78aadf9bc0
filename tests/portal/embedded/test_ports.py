"""Does the web server get a port that is free, and a message when it can't?"""

import socket
from collections.abc import Iterator

import pytest

from portal.embedded import ports
from portal.embedded.errors import StartError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_wanted_port_that_is_free_is_taken(taken: int) -> None:
    free = next(port for port in range(taken + 1, 65_000) if ports.is_free("127.0.0.1", port))

    with ports.listen("127.0.0.1", free) as listener:
        assert listener.getsockname() == ("127.0.0.1", free)
        assert not ports.is_free("127.0.0.1", free)


def test_a_wanted_port_in_use_is_refused_with_what_to_do(taken: int) -> None:
    with pytest.raises(StartError, match=f"Port {taken} .* in use .*PORTAL_PORT"):
        ports.listen("127.0.0.1", taken)


def test_without_a_wish_the_next_free_port_is_taken(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST", taken)

    with ports.listen("127.0.0.1", None) as listener:
        assert taken < listener.getsockname()[1] < taken + ports.TRIED


def test_when_every_port_is_in_use_the_range_is_named(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST", taken)
    monkeypatch.setattr(ports, "TRIED", 1)

    with pytest.raises(StartError, match=f"No port from {taken} to {taken}"):
        ports.listen("127.0.0.1", None)


def test_an_address_of_another_machine_is_not_called_a_port_in_use() -> None:
    with pytest.raises(StartError, match=r"192\.0\.2\.1 can't be listened on"):
        ports.listen("192.0.2.1", None)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("portal.example", "http://portal.example:8000"),
    ],
)
def test_the_url_is_one_that_a_browser_here_can_open(host: str, expected: str) -> None:
    assert ports.url(host, 8000) == expected
