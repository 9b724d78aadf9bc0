"""Mails as people's programs and other machines write them."""

from __future__ import annotations

import itertools
from email.message import EmailMessage

from portal.accounts.models import User
from portal.notify.outgoing import reply_key
from portal.notify.reply_tokens import Reply, address
from requests_app.tickets.models import Ticket

_numbers = itertools.count(1)


def reply_address(ticket: Ticket, person: User, *, internal: bool = False, what: str = "reply") -> str:
    return address(what, Reply(ticket.pk, person.pk, internal), key=reply_key(), domain="portal.example")


def a_mail(sender: str, to: str, text: str, **headers: str) -> bytes:
    """A plain mail; `Auto_Submitted="auto-replied"` sets that header, None leaves a usual one away."""
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, to
    mail["Subject"] = headers.pop("Subject", "Re: [T-1] Training")
    mail["Message-ID"] = headers.pop("Message_ID", f"<mail-{next(_numbers)}@example.org>")
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    return mail.as_bytes()


def a_reply(ticket: Ticket, person: User, text: str, *, internal: bool = False, **headers: str) -> bytes:
    """The person's answer to a mail of the portal."""
    return a_mail(person.email, reply_address(ticket, person, internal=internal), text, **headers)


def a_bounce(to: str, recipient: str, *, status: str = "5.1.1", action: str = "failed") -> bytes:
    """A delivery report (RFC 3464)."""
    return (
        "Return-Path: <>\r\nFrom: MAILER-DAEMON@mx.example.org\r\n"
        f"To: {to}\r\nSubject: Undelivered\r\nMessage-ID: <bounce-{next(_numbers)}@mx.example.org>\r\n"
        'MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n'
        "--b\r\nContent-Type: text/plain\r\n\r\nIt did not arrive.\r\n"
        "--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.org\r\n\r\n"
        f"Final-Recipient: rfc822; {recipient}\r\nAction: {action}\r\nStatus: {status}\r\n\r\n--b--\r\n"
    ).encode()
