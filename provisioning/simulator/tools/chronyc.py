"""What does `chronyc -c tracking` (and sources, and waitsync) say of the node's clock?"""

from __future__ import annotations

import time

from provisioning.simulator import noise
from provisioning.simulator.call import Call

UNSYNCHRONISED = [
    "00000000",
    "",
    "0",
    "0.000000000",
    "0.000000000",
    "0.000000000",
    "0.000000000",
    "0.000",
    "0.000",
    "0.000",
    "1.000000000",
    "1.000000000",
    "0.0",
    "Not synchronised",
]
NAMES = (
    "Reference ID",
    "Stratum",
    "Ref time (UTC)",
    "System time",
    "Last offset",
    "RMS offset",
    "Frequency",
    "Residual freq",
    "Skew",
    "Root delay",
    "Root dispersion",
    "Update interval",
    "Leap status",
)


def run(call: Call) -> int:
    """chronyc [-c] [-n] tracking | waitsync | makestep | sources"""
    words = [word for word in call.argv if not word.startswith("-")]
    service = call.state["services"].get("chrony") or call.state["services"].get("chronyd")
    if service is None or service["active"] != "active":
        return call.fail(1, "506 Cannot talk to daemon")
    what = words[0] if words else "tracking"
    if what == "tracking":
        fields = tracking(call)
        call.out(",".join(fields) + "\n" if "-c" in call.argv else _for_people(fields))
        return 0
    if what == "waitsync":
        drift = call.fault("clock-drift")
        return 0 if drift is None or drift["synchronised"] else 1
    if what in ("makestep", "burst", "online", "sources", "activity"):
        call.out("200 OK\n")
        return 0
    return call.fail(1, "Unrecognized command")


def tracking(call: Call) -> list[str]:
    """The fourteen columns of -c: reference, address, stratum, times and offsets in seconds, frequencies in ppm, leap status."""
    drift = call.fault("clock-drift")
    if drift is not None and not drift["synchronised"]:
        return list(UNSYNCHRONISED)
    key = (call.state["seed"], call.state["name"], "clock")
    offset = noise.gauss(*key, sd=0.00001) if drift is None else float(drift["offset"])
    now = time.time()
    return [
        "0A00000A",
        "10.0.0.10",
        "3",
        f"{now - 17.25:.9f}",
        f"{offset:.9f}",
        f"{offset * 0.9:.9f}",
        f"{abs(offset) * 1.1 + 0.000011:.9f}",
        f"{noise.gauss(*key, 'ppm', sd=6.0):.3f}",
        "0.001",
        "0.031",
        "0.000310255",
        "0.000184000",
        "64.2",
        "Normal",
    ]


def _for_people(fields: list[str]) -> str:
    values = [
        f"{fields[0]} ({fields[1]})",
        fields[2],
        time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(float(fields[3]))),
        f"{abs(float(fields[4])):.9f} seconds {'slow' if float(fields[4]) > 0 else 'fast'} of NTP time",
        f"{float(fields[5]):+.9f} seconds",
        f"{fields[6]} seconds",
        f"{fields[7]} ppm slow",
        f"+{fields[8]} ppm",
        f"{fields[9]} ppm",
        f"{fields[10]} seconds",
        f"{fields[11]} seconds",
        f"{fields[12]} seconds",
        fields[13],
    ]
    return "".join(f"{name:<15} : {value}\n" for name, value in zip(NAMES, values, strict=True))
