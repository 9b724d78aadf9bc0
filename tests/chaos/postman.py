"""What if messages come twice, late, in another order, or not at all? `python -m tests.chaos.postman DEED SECONDS FILE`.

It stands at the broker's queues beside the workers for some seconds, takes what it gets, and puts it back as its deed says. The
messages, the queues and the broker are the real ones, whichever broker that is. How many it handled is a line in FILE.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kombu import Connection, Consumer, Queue
from kombu.exceptions import OperationalError

from provisioning.workers.routing import Work, queue_of

QUEUES = tuple(queue_of(work) for work in Work)
DOUBLE, SHUFFLE, DELAY, LOSE = "double", "shuffle", "delay", "lose"
KEPT_PROPERTIES = ("correlation_id", "reply_to", "delivery_mode", "priority")
COPIES = 3


def take(
    connection: Connection, seconds: float, found: list[tuple[str, Any]], *, queues: Sequence[str] = QUEUES
) -> None:
    """Gather messages that come while it stands there, with their queues."""
    with connection.channel() as channel:
        consumers = [
            Consumer(
                channel,
                queues=[Queue(name, durable=True, no_declare=True)],
                on_message=lambda message, name=name: (found.append((name, message)), message.ack()),
            )
            for name in queues
        ]
        for consumer in consumers:
            consumer.consume()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                connection.drain_events(timeout=min(left, 1.0))
            except TimeoutError:
                continue
        for consumer in consumers:
            consumer.cancel()


def put_back(connection: Connection, messages: list[tuple[str, Any]]) -> None:
    """As they were: the same task, id and headers."""
    producer = connection.Producer()
    for name, message in messages:
        kept = {
            key: value
            for key, value in message.properties.items()
            if key in KEPT_PROPERTIES and value is not None
        }
        producer.publish(
            message.body,
            exchange="",
            routing_key=name,
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            headers=message.headers,
            retry=False,
            **kept,
        )


def arranged(deed: str, messages: list[tuple[str, Any]], dice: random.Random) -> list[tuple[str, Any]]:
    """What is put back, in this order."""
    if deed == LOSE:
        return []
    told = messages * (COPIES if deed == DOUBLE else 1)
    if deed != DELAY:
        dice.shuffle(told)
    return told


def main(deed: str, seconds: float, file: Path) -> int:
    messages: list[tuple[str, Any]] = []
    url = os.environ["PORTAL_BROKER_URL"]
    errors = (*Connection(url).connection_errors, *Connection(url).channel_errors, OSError, OperationalError)
    with contextlib.suppress(*errors):  # the broker is away, too: what was held is lost, as it may be
        with Connection(url, connect_timeout=3) as connection:
            take(connection, seconds, messages)
        if deed == DELAY:
            time.sleep(2 * seconds)
        with Connection(url, connect_timeout=3) as connection:
            put_back(connection, arranged(deed, messages, random.Random()))  # noqa: S311 - a die, no secret
    with file.open("a", encoding="utf-8") as told:
        told.write(json.dumps({"deed": deed, "messages": len(messages)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])))
