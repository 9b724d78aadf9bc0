"""What does a worker do while its child runs? Reads, writes, stays alive, listens, and keeps the limits."""

from __future__ import annotations

import logging
import time

from django.db import InterfaceError, OperationalError, connection, transaction

from portal.kernel.clock import now
from provisioning.jobs import claims
from provisioning.jobs.child_process import AdoptedChild
from provisioning.jobs.claims import Claim, Wishes
from provisioning.jobs.playbooks import Playbook
from provisioning.jobs.preparation import grace, silence
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.spool import SpoolReader
from provisioning.jobs.states import Reason

logger = logging.getLogger(__name__)

DATABASE_AWAY = (OperationalError, InterfaceError)
LOOK_EVERY = 0.1
FLUSH_EVERY = 0.5
ASK_EVERY = 1.0
ROWS_AT_ONCE = 5000
"""Rows kept in memory while the database is away; the spool keeps the rest."""
LEAVE_WAIT = 5.0


class Watch:
    """The loop around one child. `stop` is why it was told to stop, None when it was not; `ran` are the seconds it ran before."""

    def __init__(
        self,
        held: Claim,
        book: Playbook,
        child: AdoptedChild,
        spool: SpoolReader,
        recorder: Recorder,
        *,
        ran: float = 0.0,
    ) -> None:
        self.held = held
        self.book = book
        self.child = child
        self.spool = spool
        self.recorder = recorder
        self.stop: Reason | None = None
        self._lease = held.lease.total_seconds()
        begun = time.monotonic()
        self._heard = self._renewed = self._asked = self._flushed = begun
        self._begun = begun - ran
        self._renew_at = begun + self._lease / 3
        self._kill_at = float("inf")

    def until_it_ends(self) -> None:
        """Return when the child is gone and everything it said was read. Fenced comes through: it is not ours any more."""
        while True:
            ended = self.child.ended
            read = self._read()
            self._write()
            if ended and not read:
                return
            self._stay_alive()
            self._keep_limits()
            self.child.wait(LOOK_EVERY)

    def _read(self) -> int:
        if self.recorder.waiting >= ROWS_AT_ONCE and not self._is_given_up():
            return 1  # the rest stays in the spool until the database takes what we have
        read = 0
        at = now()
        for raw in self.spool.new_events():
            self.recorder.take(raw, at=at)
            read += 1
        if read:
            self._heard = time.monotonic()
        if self.spool.end is not None:
            self._kill_at = min(self._kill_at, time.monotonic() + LEAVE_WAIT)
        return read

    def _write(self) -> bool:
        if time.monotonic() - self._flushed < FLUSH_EVERY or not self.recorder.has_news:
            return True
        self._flushed = time.monotonic()
        try:
            with transaction.atomic():
                claims.ours(self.held)
                self.recorder.flush()
        except DATABASE_AWAY as problem:
            self._database_is_away(problem)
            return False
        self.recorder.flushed()
        return True

    def _stay_alive(self) -> None:
        begun = time.monotonic()
        try:
            if begun >= self._renew_at:
                self._listen(claims.renew(self.held))
                self._renewed, self._asked = begun, begun
                self._renew_at = begun + self._lease / 3
                self.child.sign_of_life()
            elif begun - self._asked >= ASK_EVERY:
                self._asked = begun
                self._listen(claims.wishes(self.held))
        except DATABASE_AWAY as problem:
            self._database_is_away(problem)
            self._asked = begun

    def _listen(self, wishes: Wishes) -> None:
        if wishes.cancel:
            self._stop(Reason.USER)
        elif wishes.hand_back and self.book.idempotent:
            self._stop(Reason.WORKER_STOPPED)
        elif wishes.hand_back:
            raise claims.let_go(self.held)  # it can't be run again, so its child goes on

    def _keep_limits(self) -> None:
        at = time.monotonic()
        if at - self._begun > self.book.timeout.total_seconds():
            self._stop(Reason.DEADLINE)
        elif at - self._heard > self.book.idle.total_seconds():
            self._stop(Reason.IDLE)
        if at > self._kill_at:
            self.child.kill()

    def _stop(self, reason: Reason) -> None:
        """Tell it once; the first reason is the one that counts. What does not go in time is killed."""
        if self.stop is None:
            self.stop = reason
            self.child.stop(reason.value)
            self._kill_at = min(self._kill_at, time.monotonic() + grace(self._lease) + LEAVE_WAIT)

    def _is_given_up(self) -> bool:
        """Nobody could renew for so long that the child has ended itself; what it said is read to the end all the same."""
        return time.monotonic() - self._renewed > silence(self._lease)

    def _database_is_away(self, problem: Exception) -> None:
        logger.warning("the database is away (%s); the spool keeps what is said", problem)
        connection.close()
