"""By how much does this part of this node differ from its siblings, always by the same amount for the same seed?

Stand-in tools are started hundreds of times, so nothing here imports anything that takes time to import.
"""

from __future__ import annotations

import math
import zlib

MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """Splitmix64's output step: neighbouring inputs give unrelated outputs."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def bits(*parts: object) -> int:
    """64 bits that depend on every part, on nothing else, and not on the Python process."""
    state = 0
    for part in parts:
        text = str(part).encode()
        state = _mix(state ^ (zlib.crc32(text) << 32 | zlib.adler32(text)))
    return state


def uniform(*parts: object) -> float:
    """A number in (0, 1)."""
    return (bits(*parts) + 0.5) / 2.0**64


def gauss(*parts: object, sd: float, limit: float = 2.5) -> float:
    """A normal deviate with this spread, cut at `limit` spreads so that no healthy part is ever an outlier by chance."""
    first, second = uniform(*parts, "radius"), uniform(*parts, "angle")
    value = math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second)
    return sd * max(-limit, min(limit, value))


def token(length: int, *parts: object) -> str:
    """That many hexadecimal digits, for serial numbers and identifiers."""
    text = ""
    while len(text) < length:
        text += f"{bits(*parts, len(text)):016x}"
    return text[:length]


def uuid(*parts: object) -> str:
    """A version 4 UUID made of the parts."""
    digits = token(32, *parts)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) % 4]}{digits[17:20]}-{digits[20:]}"
