"""Where do mails lie that came in? In an IMAP mailbox or a maildir. One is deleted only after what it said is committed."""

from __future__ import annotations

import imaplib
import logging
import mailbox
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings

from portal.notify.inbound.intake import take
from portal.notify.inbound.reading import MOST_BYTES

logger = logging.getLogger(__name__)

TIMEOUT = 30
MOST_AT_ONCE = 100


def receive() -> int:
    """Take in what lies in the configured mailbox; how many mails that were. None configured: none."""
    url = settings.MAIL_IN_URL
    if not url:
        return 0
    parts = urlsplit(url)
    if parts.scheme == "maildir":
        return from_maildir(Path(unquote(parts.path)))
    if parts.scheme in ("imap", "imaps"):
        return from_imap(url)
    logger.error("PORTAL_MAIL_IN_URL begins with %s; use imaps:// or maildir:", parts.scheme)
    return 0


def from_maildir(folder: Path) -> int:
    """Every mail of a maildir; one that could not be taken in stays."""
    box = mailbox.Maildir(folder, create=False)
    taken = 0
    for key in sorted(box.keys())[:MOST_AT_ONCE]:
        try:
            raw = box.get_bytes(key)
        except (KeyError, OSError):  # another worker was quicker
            continue
        if _taken(raw):
            box.discard(key)
            taken += 1
    return taken


def _taken(raw: bytes) -> bool:
    try:
        take(raw)
    except Exception:
        logger.exception("a mail could not be taken in; it stays where it is")
        return False
    return True


def from_imap(url: str) -> int:
    """Every mail of an IMAP folder; deleted there after it was taken in."""
    taken = 0
    with _folder(url) as box:
        _, found = box.uid("SEARCH", "UNDELETED")
        for uid in (found[0] or b"").split()[:MOST_AT_ONCE]:
            raw = _fetched(box, uid.decode())
            if raw is not None and _taken(raw):
                box.uid("STORE", uid.decode(), "+FLAGS", r"(\Deleted)")
                taken += 1
        box.expunge()
    return taken


def _fetched(box: imaplib.IMAP4, uid: str) -> bytes | None:
    """One mail; of one that is far too big only as much as says so."""
    _, answer = box.uid("FETCH", uid, f"(BODY.PEEK[]<0.{MOST_BYTES + 1}>)")
    for piece in answer:
        if isinstance(piece, tuple):
            return bytes(piece[1])
    return None


@contextmanager
def _folder(url: str) -> Iterator[imaplib.IMAP4]:
    parts = urlsplit(url)
    host, name = parts.hostname or "localhost", unquote(parts.path.strip("/")) or "INBOX"
    box: imaplib.IMAP4 = (
        imaplib.IMAP4_SSL(host, parts.port or 993, timeout=TIMEOUT)
        if parts.scheme == "imaps"
        else imaplib.IMAP4(host, parts.port or 143, timeout=TIMEOUT)
    )
    try:
        box.login(unquote(parts.username or ""), unquote(parts.password or ""))
        state, said = box.select(f'"{name}"')
        if state != "OK":
            raise imaplib.IMAP4.error(f"the folder {name} can't be opened: {said!r}")
        yield box
    finally:
        box.logout()
