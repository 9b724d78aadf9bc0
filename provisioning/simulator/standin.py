"""Which stand-in was called, on which node, and what becomes of its output? (Run by the launcher in a node's bin/.)"""

# ruff: noqa: PTH100, PTH101, PTH103, PTH105, PTH112, PTH113, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123, PTH208
# This is the start of every stand-in call: it imports as little as it can.

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # run as a script, isolated: the house is not on the path yet
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from provisioning.simulator import node
from provisioning.simulator.call import Call
from provisioning.simulator.tools import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(launcher: str, argv: list[str]) -> int:
    """Run the tool that `launcher` (a path in some node's bin/) is named after."""
    name = os.path.basename(launcher)
    node_dir = os.path.dirname(os.path.dirname(os.path.abspath(launcher)))
    if name not in TOOLS:
        sys.stderr.write(f"{name}: no stand-in of this name\n")
        return 127
    try:
        state = node.read_state(node_dir)
    except node.NotANode as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 70
    _delay(state, name)
    call = Call(name, argv, os.path.realpath(node_dir), state)
    code = run_tool(call)
    sys.stderr.write("".join(call.stderr))
    sys.stderr.flush()
    _print(_spoiled(call, "".join(call.stdout).encode("utf-8", "surrogateescape")))
    return code


def run_tool(call: Call) -> int:
    """Let the tool's function answer into `call`; its exit code."""
    module_name, function = TOOLS[call.name].split(":")
    module = __import__(f"provisioning.simulator.tools.{module_name}", fromlist=[function])
    run: int = getattr(module, function)(call)
    return run


def _delay(state: dict[str, Any], name: str) -> None:
    hang, slow = state["faults"].get("hang"), state["faults"].get("slow")
    if hang is not None and hang["params"]["tool"] == name:
        _hang()
    if slow is not None and slow["params"]["tool"] in ("", name):
        import time

        time.sleep(slow["params"]["seconds"])


def _hang() -> None:
    """Like a process stuck in the driver: only the hard way ends it."""
    import signal
    import time

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def _spoiled(call: Call, output: bytes) -> bytes:
    given = call.fault("garbage")
    if given is None or given["tool"] != call.name:
        return output
    if given["kind"] in ("both", "bytes"):
        middle = len(output) // 4
        output = output[:middle] + b"\xff\xfe\x00\xc3\x28\x80" + output[middle:]
    return output[: len(output) * 3 // 5] if given["kind"] in ("both", "truncated") else output


def _print(output: bytes) -> None:
    try:
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader had enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
