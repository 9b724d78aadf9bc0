"""Is the live portal still answering somebody? Its threads outlive a test; what they were asked for must not."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

from django.core.signals import request_finished, request_started


class Visits:
    """Counts the requests that other threads than the test's own are answering, while it is open."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._own = threading.get_ident()

    def __enter__(self) -> Self:
        request_started.connect(self._begun, weak=False)
        request_finished.connect(self._over, weak=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        request_started.disconnect(self._begun)
        request_finished.disconnect(self._over)

    def wait_until_over(self, patience: float) -> None:
        """Until nobody is answered any more; TimeoutError after `patience` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._under_way == 0, patience):
                raise TimeoutError(
                    f"{self._under_way} requests are still answered {patience} s after the page was left"
                )

    def _begun(self, **_: Any) -> None:
        self._count(1)

    def _over(self, **_: Any) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        if threading.get_ident() == self._own:
            return
        with self._changed:
            self._under_way += change
            self._changed.notify_all()
