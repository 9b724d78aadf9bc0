"""Where do the bytes of a file live? In the var folder under a random name, written whole before any row names them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from portal.accounts.tokens import LONGEST, TokenText, tokens_in
from portal.kernel.errors import Invalid
from requests_app.attachments.limits import say_size
from requests_app.attachments.models import random_name


@dataclass(frozen=True)
class Stored:
    """A file on disk that no row names yet. `tokens` are API tokens that stand in it."""

    name: str
    size: int
    sha256: str
    tokens: tuple[TokenText, ...]


def folder() -> Path:
    """The folder of all files; nobody but the portal may look into it."""
    found = Path(settings.ATTACHMENTS_DIR)
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def path_of(name: str) -> Path:
    """Where the file with this random name lies."""
    return folder() / name[:2] / name


def store(chunks: Iterable[bytes], *, most: int) -> Stored:
    """Write chunks to disk as they come; Invalid, and nothing kept, as soon as they are more than `most` bytes."""
    name, size, digest = random_name(), 0, hashlib.sha256()
    found: dict[str, TokenText] = {}
    tail = ""
    path = path_of(name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise Invalid({"files": [f"A file may have {say_size(most)}."]})
                file.write(chunk)
                digest.update(chunk)
                text = tail + chunk.decode("ascii", "replace")
                found.update((token.public_id, token) for token in tokens_in(text))
                tail = text[-LONGEST:]
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return Stored(name, size, digest.hexdigest(), tuple(found.values()))


def drop(name: str) -> None:
    """Delete the bytes; twice does no harm."""
    path_of(name).unlink(missing_ok=True)


def everything() -> Iterator[Path]:
    """Every file that lies there, unfinished ones too."""
    for shelf in folder().iterdir():
        if shelf.is_dir():
            yield from shelf.iterdir()
