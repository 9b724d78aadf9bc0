"""May this value reach a playbook? One reader per kind of value; each returns it clean or raises ValueError with a sentence."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")
Reader = Callable[[object], T]

HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
)
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_VERSION = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5}){1,3}")
_PATH = re.compile(r"(/[A-Za-z0-9._@+-]{1,100}){1,20}")
_SOURCE = re.compile(r"[A-Za-z0-9\[/][A-Za-z0-9._:/@\[\],+-]{0,254}")
_WORD = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_MOUNT_OPTIONS = re.compile(r"[A-Za-z0-9_.,=:/@+-]{1,255}")
_SIZE = re.compile(r"[1-9][0-9]{0,5}[KMG]?")
_JOB_REF = re.compile(r"J-[1-9][0-9]{0,17}")
_CLUSTER_REF = re.compile(r"C-[1-9][0-9]{0,17}")
_SETTING = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_SETTING_VALUE = re.compile(r"[A-Za-z0-9 _.,:=^/-]{1,200}")
_PUBLIC_KEY = re.compile(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)"
    r" [A-Za-z0-9+/]{40,8000}={0,3}( [^\x00-\x1f]{0,200})?"
)
# Marks that turn the direction of writing or hide themselves: a text with them reads differently from what it is.
_HIDDEN = {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF}


def text(*, longest: int, empty: bool = True) -> Reader[str]:
    """One line that a person wrote: no control characters, no marks that hide or turn text."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("This has to be text.")
        if len(value) > longest:
            raise ValueError(f"At most {longest} characters; these are {len(value)}.")
        if any(
            unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or ord(char) in _HIDDEN for char in value
        ):
            raise ValueError("Control characters, line breaks and hidden marks are not allowed.")
        if not empty and not value.strip():
            raise ValueError("This can't be empty.")
        return value

    return read


def shaped(pattern: re.Pattern[str], what: str, *, empty: bool = False) -> Reader[str]:
    """Text of one shape; `what` names it in the complaint."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("This has to be text.")
        if empty and value == "":
            return value
        if len(value) > 10_000 or pattern.fullmatch(value) is None:
            raise ValueError(f"{value[:60]!r} is not {what}.")
        return value

    return read


slug = shaped(_SLUG, "a short name of small letters, digits and hyphens")
host_name = shaped(HOST_NAME, "a host name")
account_name = shaped(_ACCOUNT, "the name of an account")
public_key = shaped(_PUBLIC_KEY, "a public SSH key in one line")
driver_version = shaped(_VERSION, "a version like 570.124.06", empty=True)
fstype = shaped(_WORD, "the type of a file system")
mount_options = shaped(_MOUNT_OPTIONS, "a list of mount options")
job_ref = shaped(_JOB_REF, "the reference of a job")
cluster_ref = shaped(_CLUSTER_REF, "the reference of a cluster", empty=True)
message_size = shaped(_SIZE, "a size like 8M or 8G")
setting_name = shaped(_SETTING, "the name of a setting")
setting_value = shaped(_SETTING_VALUE, "a plain value")
evidence_id = shaped(_WORD, "the id of a probe")


def path(value: object) -> str:
    """An absolute path without `..`."""
    found = shaped(_PATH, "an absolute path")(value)
    if any(part in {".", ".."} for part in found.split("/")):
        raise ValueError("A path can't go up with '..'.")
    return found


def mount_source(value: object) -> str:
    """A device or `server:/export`; never something that reads as an option."""
    return shaped(_SOURCE, "what a mount can mount")(value)


def address(value: object) -> str:
    """An IP address or a host name."""
    if isinstance(value, str):
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            pass
    return host_name(value)


def whole(*, least: int, most: int) -> Reader[int]:
    """A whole number between `least` and `most`, both included."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("This has to be a whole number.")
        if not least <= value <= most:
            raise ValueError(
                f"Between {least} and {most}; this is {value if abs(value) < 10**12 else 'far off'}."
            )
        return value

    return read


def flag(value: object) -> bool:
    """True or false, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise ValueError("This has to be true or false.")
    return value


def listed(read: Reader[T], *, most: int) -> Reader[list[T]]:
    """A list of at most `most` values."""

    def read_all(value: object) -> list[T]:
        if not isinstance(value, list | tuple):
            raise ValueError("This has to be a list.")
        if len(value) > most:
            raise ValueError(f"At most {most}; these are {len(value)}.")
        return [_at(f"number {place}", read, item) for place, item in enumerate(value, start=1)]

    return read_all


def record(
    readers: Mapping[str, Reader[object]], *, optional: Mapping[str, object]
) -> Reader[dict[str, object]]:
    """A mapping with exactly these keys; those in `optional` have a default, None leaves the key away."""

    def read(value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise ValueError("This has to be a mapping.")
        unknown = [str(key)[:40] for key in value if key not in readers]
        if unknown:
            raise ValueError(f"Unknown here: {', '.join(sorted(unknown))}.")
        missing = [key for key in readers if key not in value and key not in optional]
        if missing:
            raise ValueError(f"Missing: {', '.join(missing)}.")
        found = {key: value.get(key, optional.get(key)) for key in readers}
        return {key: _at(key, readers[key], item) for key, item in found.items() if item is not None}

    return read


def _at(where: str, read: Reader[T], value: object) -> T:
    try:
        return read(value)
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from problem
