"""What a postman took comes back through the real broker as his deed says, and is the same message."""

from __future__ import annotations

import random
import uuid

import pytest
from kombu import Connection, Queue

from tests.chaos import postman

WORDS = ["J-1", "J-2", "J-3", "J-4"]


@pytest.fixture
def queue() -> str:
    return f"chaos-{uuid.uuid4().hex[:8]}"


def arrived(connection: Connection, queue: str) -> list[str]:
    """What lies in the queue now, and with which header."""
    found: list[tuple[str, object]] = []
    postman.take(connection, 1.0, found, queues=[queue])
    assert all(message.headers["task"] == "jobs.run" for _, message in found)  # type: ignore[attr-defined]
    return [message.decode()["ref"] for _, message in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("deed", "comes"),
    [
        (postman.DOUBLE, sorted(WORDS * postman.COPIES)),
        (postman.SHUFFLE, WORDS),
        (postman.DELAY, WORDS),
        (postman.LOSE, []),
    ],
)
def test_messages_come_back_as_the_deed_says(
    broker_url: str, queue: str, deed: str, comes: list[str]
) -> None:
    with Connection(broker_url) as connection:
        lies = Queue(queue, durable=True)
        bound = lies(connection.default_channel)
        bound.declare()
        producer = connection.Producer()
        for ref in WORDS:
            producer.publish({"ref": ref}, exchange="", routing_key=queue, headers={"task": "jobs.run"})
        found: list[tuple[str, object]] = []
        postman.take(connection, 1.0, found, queues=[queue])
        assert len(found) == len(WORDS)
        assert arrived(connection, queue) == []
        postman.put_back(connection, postman.arranged(deed, found, random.Random(1)))
        assert sorted(arrived(connection, queue)) == comes
        bound.delete()


def test_another_order_is_another() -> None:
    messages = [(word, None) for word in WORDS]
    told = postman.arranged(postman.SHUFFLE, messages, random.Random(1))
    assert told != messages
    assert sorted(told) == messages
