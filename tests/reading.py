"""A client that reads what it asked for to the end, as browsers do: a file that is sent is closed."""

from __future__ import annotations

from typing import Any

from django.test import Client


class ReadingClient(Client):
    """`answer.whole` is the body of a streamed answer."""

    def request(self, **request: Any) -> Any:
        answer: Any = super().request(**request)
        if answer.streaming:
            answer.whole = b"".join(answer.streaming_content)
            for close in answer._resource_closers:
                close()
        return answer
