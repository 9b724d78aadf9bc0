"""What goes wrong with nodes? They reboot, refuse, fall silent, freeze, and drop a connection in the middle of a task."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable

from tests.chaos.evidence import Fault
from tests.chaos.faults import Chaos, send
from tests.chaos.stage import HostState

Undo = Callable[[], None]


def reboot(chaos: Chaos, name: str) -> Fault | None:
    """Everything on it ends, nobody listens, and it comes again."""

    def breaks(state: HostState) -> Undo:
        state.host.stop()
        return lambda: state.host.start(chaos.stage.key)

    return _break(chaos, name, breaks, chaos.dice.uniform(1, 8))


def silence(chaos: Chaos, name: str) -> Fault | None:
    """In place of its sshd something that takes every connection and never says a word."""

    def breaks(state: HostState) -> Undo:
        state.host.stop()
        listener = socket.create_server((state.host.address, state.host.port), backlog=16)

        def undo() -> None:
            listener.close()
            state.host.start(chaos.stage.key)

        return undo

    return _break(chaos, name, breaks, chaos.dice.uniform(3, 15))


def refuse(chaos: Chaos, name: str) -> Fault | None:
    """It lets nobody in any more; who is in stays in."""

    def breaks(state: HostState) -> Undo:
        state.host.let_in(chaos.stage.other_key)
        return lambda: state.host.let_in(chaos.stage.key)

    return _break(chaos, name, breaks, chaos.dice.uniform(2, 12))


def freeze(chaos: Chaos, name: str) -> Fault | None:
    """Everything on it stands still, as in a virtual machine that is paused."""

    def breaks(state: HostState) -> Undo:
        for each in state.host.processes():
            send(each.pid, signal.SIGSTOP)

        def undo() -> None:
            for each in state.host.processes():
                send(each.pid, signal.SIGCONT)

        return undo

    return _break(chaos, name, breaks, chaos.dice.choice([3.0, 8.0, 45.0]))


def drop(chaos: Chaos, name: str) -> Fault | None:
    """Its sessions end; what they had begun goes on."""

    def breaks(state: HostState) -> Undo:
        for pid in state.host.sessions():
            send(pid, signal.SIGKILL)
        return lambda: None

    return _break(chaos, name, breaks, 0.0)


def _break(chaos: Chaos, name: str, breaks: Callable[[HostState], Undo], seconds: float) -> Fault | None:
    with chaos.stage.turn:
        state = chaos.sound_host()
        if state is None:
            return None
        fault = Fault(name, node=state.name)
        undo = breaks(state)

        def mend() -> None:
            undo()
            fault.over()

        state.mend, state.mend_at = mend, time.monotonic() + seconds
    return fault
