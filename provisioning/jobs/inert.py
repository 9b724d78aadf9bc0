"""How does text reach Ansible as data? Tagged, so that nothing in it is ever a template.

Ansible reads JSON by its own rules: a string in extra vars or in an inventory is a template unless it comes as
`{"__ansible_unsafe": "..."}`. Every string goes that way; keys are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TAG = "__ansible_unsafe"
RESERVED = "__ansible"


def as_data(value: Any) -> Any:
    """`value` with every string in it tagged; ValueError for what JSON can't hold or a key that Ansible would read."""
    if isinstance(value, str):
        return {TAG: value}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): as_data(item) for key, item in value.items()}
    raise ValueError(f"a {type(value).__name__} can't be handed to Ansible")


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.isidentifier() or key.startswith(RESERVED):
        raise ValueError(f"{str(key)[:60]!r} can't be the name of a value")
    return key
