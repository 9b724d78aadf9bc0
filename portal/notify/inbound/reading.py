"""What does a mail say, who sent it, and did a person write it? Pure; any bytes give an answer, and none raise."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses

from portal.notify.inbound.quotes import html_words, new_text

MOST_BYTES = 30 * 1024 * 1024
MOST_PARTS = 100
LONGEST_TEXT = 200_000
_MESSAGE_ID = re.compile(r"<[^<>\s]{1,250}>")
_AWAY = re.compile(
    r"\s*(automatic reply|auto(matic)?[- ]?(reply|response|antwort)|out of (the )?office|abwesen|réponse automatique|"
    r"respuesta automática|automatisch antwoord)",
    re.IGNORECASE,
)
_PRECEDENCE = frozenset({"bulk", "junk", "list", "auto_reply", "auto-reply"})
_MACHINES = ("mailer-daemon", "postmaster", "no-reply", "noreply", "donotreply", "do-not-reply")


@dataclass(frozen=True)
class Part:
    """A file that came along."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Bounce:
    """A report that mail could not be delivered. `lasting` when trying again is no use."""

    recipient: str
    status: str
    lasting: bool


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A mail as the portal sees it. `senders` and `recipients` are bare addresses in small letters."""

    key: str
    message_id: str = ""
    senders: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    subject: str = ""
    text: str = ""
    files: tuple[Part, ...] = ()
    answers: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    automatic: str = ""
    bounce: Bounce | None = None
    damage: str = ""


def read(raw: bytes) -> Incoming:
    """Everything of a mail that matters."""
    if len(raw) > MOST_BYTES:
        return Incoming(key=_hash(raw), damage="it is too big")
    try:
        return _read(raw)
    except (Exception, RecursionError) as problem:  # noqa: BLE001 - mail is anybody's bytes; the parser has its own bugs
        return Incoming(key=_hash(raw), damage=f"it can't be read ({type(problem).__name__})")


def _read(raw: bytes) -> Incoming:
    mail = message_from_bytes(raw)
    parts = list(_leaves(mail))
    message_id = _first_id(_header(mail, "Message-ID"))
    senders = _addresses(mail, "From")
    recipients = _addresses(
        mail, "To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "X-Forwarded-To"
    )
    told = "\x00".join((message_id, *senders, *recipients)) if message_id else ""
    return Incoming(
        key=_hash(told.encode() if told else raw),
        message_id=message_id,
        senders=senders,
        recipients=recipients,
        subject=" ".join(_header(mail, "Subject").split())[:300],
        text=_text(parts)[:LONGEST_TEXT],
        files=tuple(_files(parts)),
        answers=tuple(_MESSAGE_ID.findall(_header(mail, "In-Reply-To"))),
        loops=tuple(str(each).strip().lower() for each in mail.get_all("X-Loop", [])),
        automatic=_automatic(mail, senders),
        bounce=_bounce(mail),
    )


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _header(mail: Message, name: str) -> str:
    value = mail.get(name)
    return "" if value is None else _decoded(str(value))


def _decoded(value: str) -> str:
    try:
        pieces = decode_header(value)
    except Exception:  # noqa: BLE001 - a header that can't be decoded stays as it is
        return _clean(value)
    return _clean(
        "".join(_text_of(piece, charset) if isinstance(piece, bytes) else piece for piece, charset in pieces)
    )


def _text_of(data: bytes, charset: str | None) -> str:
    """Bytes as text: by the named charset, else as UTF-8, else byte by byte; a charset that there is not is no reason to fail."""
    for each in (charset, "utf-8"):
        try:
            return data.decode(each) if each else data.decode("utf-8")
        except (LookupError, UnicodeError, ValueError):
            continue
    return data.decode("latin-1")


def _clean(text: str) -> str:
    """Without what can't be stored: NUL and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _first_id(text: str) -> str:
    found = _MESSAGE_ID.search(text)
    return found[0] if found else ""


def _addresses(mail: Message, *names: str) -> tuple[str, ...]:
    values = [str(value) for name in names for value in mail.get_all(name, [])]
    found = (address.strip().lower() for _, address in getaddresses(values))
    return tuple(dict.fromkeys(_clean(address)[:320] for address in found if "@" in address))


def _leaves(mail: Message) -> Iterator[Message]:
    for number, part in enumerate(mail.walk()):
        if number >= MOST_PARTS:
            return
        if not part.is_multipart():
            yield part


def _is_file(part: Message) -> bool:
    return bool(part.get_filename()) or part.get_content_disposition() == "attachment"


def _bytes_of(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(parts: list[Message]) -> str:
    """The plain text where there is one, the words of the HTML otherwise."""
    for kind in ("text/plain", "text/html"):
        for part in parts:
            if part.get_content_type() == kind and not _is_file(part):
                text = _clean(_text_of(_bytes_of(part)[: 4 * LONGEST_TEXT], part.get_content_charset()))
                said = new_text(text if kind == "text/plain" else html_words(text))
                if said:
                    return said
    return ""


def _files(parts: list[Message]) -> Iterator[Part]:
    for part in parts:
        if _is_file(part):
            content = _bytes_of(part)
            if content:
                yield Part(_decoded(str(part.get_filename() or "file")), content)


def _automatic(mail: Message, senders: tuple[str, ...]) -> str:
    """Why no person wrote it, "" when one seems to have: RFC 3834, and what programs send that don't know it."""
    submitted = _header(mail, "Auto-Submitted").strip().lower()
    if submitted and not submitted.startswith("no"):
        return "Auto-Submitted"
    if _header(mail, "Precedence").strip().lower() in _PRECEDENCE:
        return "Precedence"
    for name in ("X-Autoreply", "X-Autorespond", "X-Autogenerated", "X-Auto-Response"):
        if mail.get(name) is not None:
            return name
    if mail.get("Return-Path") is not None and _header(mail, "Return-Path").strip() in ("<>", ""):
        return "null sender"
    if mail.get_content_type() == "multipart/report":
        return "report"
    if any(address.partition("@")[0] in _MACHINES for address in senders):
        return "sent by a mail system"
    return "out of office" if _AWAY.match(_header(mail, "Subject")) else ""


def _bounce(mail: Message) -> Bounce | None:
    """What a delivery report (RFC 3464) says of its first recipient that failed."""
    if mail.get_content_type() != "multipart/report":
        return None
    for part in mail.walk():
        if part.get_content_type() != "message/delivery-status":
            continue
        blocks = part.get_payload()
        for block in blocks if isinstance(blocks, list) else []:
            if not isinstance(block, Message):
                continue
            recipient = str(block.get("Final-Recipient") or block.get("Original-Recipient") or "")
            status, action = str(block.get("Status") or ""), str(block.get("Action") or "").lower()
            if recipient:
                address = recipient.rpartition(";")[2].strip().lower()
                lasting = action.strip() == "failed" and not status.strip().startswith("4")
                return Bounce(_clean(address)[:320], _clean(status.strip())[:20], lasting)
    return None
