"""Does this text of a tool carry a value, and if not, which of the five ways of having none is it?"""

from __future__ import annotations

import math
import re

from provisioning.validation.reading import Reading, ReadingState

_STATES: dict[str, ReadingState] = {
    "": ReadingState.MISSING,
    "n/a": ReadingState.NOT_APPLICABLE,
    "not applicable": ReadingState.NOT_APPLICABLE,
    "not supported": ReadingState.UNSUPPORTED,
    "<<<not_supported>>>": ReadingState.UNSUPPORTED,
    "<<<not_found>>>": ReadingState.FAILED,
    "<<<null>>>": ReadingState.MISSING,
    "err!": ReadingState.FAILED,
    "error": ReadingState.FAILED,
    "unknown error": ReadingState.FAILED,
    "gpu is lost": ReadingState.FAILED,
    "gpu requires reset": ReadingState.FAILED,
    "insufficient permissions": ReadingState.FAILED,
    "deprecated": ReadingState.RETIRED,
    "requested functionality has been deprecated": ReadingState.RETIRED,
}

# DCGM's numbers that mean "no value", for 32 and 64 bits, and what their last step says (dcgm_structs.h).
_BLANKS = (0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0)
_BLANK_STATES = (ReadingState.MISSING, ReadingState.FAILED, ReadingState.UNSUPPORTED, ReadingState.FAILED)
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(\S.*)?", re.ASCII)


def state_of(text: str | None) -> ReadingState:
    """MEASURED where the text is a value; brackets and case do not matter: [N/A] is N/A."""
    if text is None:
        return ReadingState.MISSING
    bare = text.strip().strip("[]").strip().rstrip(".").lower()
    if bare.isdecimal() and bare.isascii() and len(bare) <= 19:
        return _blank(int(bare))
    return _STATES.get(bare, ReadingState.MEASURED)


def _blank(number: int) -> ReadingState:
    # Told apart as whole numbers: as floats the four 64-bit ones are one number.
    for base in _BLANKS:
        if 0 <= number - base < len(_BLANK_STATES):
            return _BLANK_STATES[number - base]
    return ReadingState.MEASURED


def quantity(text: str | None) -> tuple[ReadingState, float | None, str]:
    """A number and its unit: "67.03 W" is (measured, 67.03, "W"), "ERR!" is (failed, None, "")."""
    state = state_of(text)
    if state is not ReadingState.MEASURED or text is None:
        return state, None, ""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return ReadingState.FAILED, None, ""
    value = float(found.group(1))
    if not math.isfinite(value):
        return ReadingState.FAILED, None, ""
    return ReadingState.MEASURED, value, (found.group(2) or "").strip()


def number_reading(
    metric: str,
    device: str,
    text: str | None,
    *,
    unit: str,
    source: str,
    run: int,
    printed_unit: str | None = None,
) -> Reading:
    """A reading of a number. The unit the tool printed must be the one expected, else the read has failed.

    `printed_unit` is the tool's spelling where it is not ours ("x", "bank(s)"); None means the same as `unit`.
    """
    state, value, printed = quantity(text)
    wanted = unit if printed_unit is None else printed_unit
    if value is not None and printed != wanted:
        state, value = ReadingState.FAILED, None
    return Reading(metric=metric, device=device, value=value, unit=unit, state=state, source=source, run=run)


def word_reading(metric: str, device: str, text: str | None, *, source: str, run: int) -> Reading:
    """A reading of a word, kept as printed."""
    state = state_of(text)
    value = text.strip() if text is not None and state is ReadingState.MEASURED else None
    return Reading(metric=metric, device=device, value=value, unit="", state=state, source=source, run=run)
