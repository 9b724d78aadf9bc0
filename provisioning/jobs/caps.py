"""How much of what a playbook says is kept, and in which form can a database keep it?"""

from __future__ import annotations

import json
from typing import Any

EVENT_LIMIT = 65_536
"""Bytes of text, and bytes of data, that one event keeps."""
JOB_LIMIT = 16 * 1024 * 1024
"""Bytes that one attempt keeps in the database; beyond it events stay, without text and data."""
HOST_DATA_LIMIT = 4 * 1024 * 1024
"""Bytes that a node's own results may have."""
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, default=str).encode


def storable(text: str) -> str:
    """`text` as PostgreSQL can hold it: NUL and lone surrogates become the sign for what can't be shown."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8") if _is_odd(text) else text


def _is_odd(text: str) -> bool:
    return "\0" in text or not _is_utf8(text)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def storable_value(value: Any) -> Any:
    """A JSON value as PostgreSQL can hold it; numbers that JSON does not know become text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, list | tuple):
        return [storable_value(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(key)): storable_value(item) for key, item in value.items()}
    return value


def json_of(value: Any) -> str:
    """A value as JSON text, as PostgreSQL can hold it."""
    text = plain_json_of(value)
    return _encoded(storable_value(value)) if text is None else text


def plain_json_of(value: Any) -> str | None:
    """The same for a value that can be stored as it is, the usual case, in one go; None for any other."""
    try:
        text = _encoded(value)
    except ValueError:  # a number that JSON does not know
        return None
    return text if "\\u0000" not in text and _is_utf8(text) else None


def head_and_tail(text: str, limit: int = EVENT_LIMIT) -> tuple[str, int]:
    """`text` within `limit` bytes, its middle left out, and how many bytes that were."""
    if bytes_of(text) <= limit:
        return text, 0
    raw = text.encode("utf-8")
    dropped = len(raw) - limit
    note = f"\n… {dropped:,} bytes left out …\n"
    head = raw[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = raw[-(limit // 3) + len(note.encode()) :].decode("utf-8", "ignore")
    return f"{head}{note}{tail}", dropped


def bytes_of(text: str) -> int:
    """Bytes of a text; of a plain one without making them."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
