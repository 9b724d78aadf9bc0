"""How does a letter leave by SMTP? With the right envelope, thread and reply address; no server, no sending."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from email.utils import formataddr, parseaddr
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.smtp import EmailBackend

from portal.accounts.models import User
from portal.notify.letters import Letter, thread_root
from portal.notify.reply_tokens import Reply, address

TIMEOUT = 10
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Post:
    """Where mail goes out and who it is from."""

    host: str
    port: int
    user: str
    password: str
    tls: str  # "starttls", "ssl" or "off"
    sender: str
    domain: str


def post_office() -> Post | None:
    """The mail server of this portal, None while none is configured."""
    return read_post(settings.MAIL_URL, settings.MAIL_FROM) if settings.MAIL_URL else None


def read_post(url: str, sender: str) -> Post:
    """`smtp://user:password@host:587`, `smtps://…`; `?tls=off` for a relay on the same machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("use smtp://host:port or smtps://host:port")
    wanted = parse_qs(parts.query).get("tls", [""])[0]
    tls = (
        "ssl" if parts.scheme == "smtps" else wanted or ("off" if parts.hostname in LOOPBACK else "starttls")
    )
    if tls not in ("ssl", "starttls", "off"):
        raise ValueError("tls is starttls or off")
    return Post(
        host=parts.hostname,
        port=parts.port or {"ssl": 465, "starttls": 587, "off": 25}[tls],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=tls,
        sender=sender,
        domain=mail_domain(sender),
    )


def mail_domain(sender: str) -> str:
    """What stands behind the `@` of the sender."""
    return parseaddr(sender)[1].rpartition("@")[2] or "localhost"


def reply_key() -> bytes:
    """Signs reply addresses; derived, so that nothing else is signed with it."""
    return hashlib.sha256(b"quartermaster mail " + settings.SECRET_KEY.encode()).digest()


def send(
    written: Letter, *, to: User, ref: str, ticket: int, internal: bool, message_id: str, post: Post
) -> None:
    """Hand one letter to the mail server. Raises what smtplib raises; nothing is sent twice on purpose."""
    reply = Reply(ticket, to.pk, internal)
    key, name = reply_key(), parseaddr(post.sender)[0] or "Quartermaster"
    own = parseaddr(post.sender)[1]
    root = thread_root(ref, post.domain)
    headers = {
        "From": post.sender,
        "To": formataddr((to.get_full_name(), to.email)),
        "Message-ID": message_id,
        "Auto-Submitted": "auto-generated",
        "Precedence": "list",
        "X-Auto-Response-Suppress": "All",
        "X-Loop": own,
        "List-Id": f"{name} <requests.{post.domain}>",
        "References": root,
        "In-Reply-To": root,
    }
    reply_to = [formataddr((name, address("reply", reply, key=key, domain=post.domain)))] if ticket else None
    mail = EmailMultiAlternatives(
        subject=written.subject,
        body=written.text,
        from_email=address("bounce", reply, key=key, domain=post.domain),
        to=[to.email],
        reply_to=reply_to,
        headers=headers,
    )
    mail.attach_alternative(written.html, "text/html")
    backend = EmailBackend(
        host=post.host,
        port=post.port,
        username=post.user,
        password=post.password,
        use_tls=post.tls == "starttls",
        use_ssl=post.tls == "ssl",
        timeout=TIMEOUT,
    )
    backend.send_messages([mail])
