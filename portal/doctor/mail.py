"""Can mail go out and come in, as it is configured?"""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from portal.doctor.checks import Answer, Context, check, ok, warn, wrong
from portal.notify.outgoing import Post, read_post

CONNECT_SECONDS = 5


@check("mail out")
def mail_out(context: Context) -> Answer:
    """The server answers, speaks TLS where it must, and takes the password. No mail is sent."""
    if context.config.mail_url is None:
        return ok("no server is set (PORTAL_MAIL_URL); messages stay in people's inboxes")
    try:
        post = read_post(context.config.mail_url, context.config.mail_from)
    except ValueError as problem:
        return wrong(f"PORTAL_MAIL_URL can't be used: {problem}", "See docs/how-to/mail.md.")
    try:
        _try(post)
    except (OSError, smtplib.SMTPException, ssl.SSLError) as problem:
        said = f"the mail server {post.host}:{post.port} is not usable: {type(problem).__name__}: {problem}"
        return wrong(
            said[:300], "Check PORTAL_MAIL_URL, the name and password. No message is lost meanwhile."
        )
    if post.domain == "localhost":
        return warn(
            "mail comes from @localhost; nobody can reply", "Set PORTAL_MAIL_FROM to an address of yours."
        )
    return ok(f"{post.host} answers; mail comes from @{post.domain}")


def _try(post: Post) -> None:
    secure = ssl.create_default_context()
    server: smtplib.SMTP = (
        smtplib.SMTP_SSL(post.host, post.port, timeout=CONNECT_SECONDS, context=secure)
        if post.tls == "ssl"
        else smtplib.SMTP(post.host, post.port, timeout=CONNECT_SECONDS)
    )
    try:
        if post.tls == "starttls":
            server.starttls(context=secure)
        if post.user:
            server.login(post.user, post.password)
        server.noop()
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()


@check("mail in")
def mail_in(context: Context) -> Answer:
    """The mailbox is one that the portal can read; what lies in it is left alone."""
    url = context.config.mail_in_url
    if url is None:
        return ok("no mailbox is set (PORTAL_MAIL_IN_URL); replies by mail are not read")
    parts = urlsplit(url)
    if parts.scheme in ("imap", "imaps"):
        return (
            ok(f"an IMAP mailbox at {parts.hostname}") if parts.hostname else _no_mailbox("it names no host")
        )
    if parts.scheme != "maildir":
        return _no_mailbox(f"it begins with {parts.scheme or 'nothing'}")
    folder = Path(unquote(parts.path))
    missing = [name for name in ("cur", "new", "tmp") if not (folder / name).is_dir()]
    return _no_mailbox(f"{folder} is no maildir") if missing else ok(f"the maildir {folder}")


def _no_mailbox(why: str) -> Answer:
    return wrong(
        f"PORTAL_MAIL_IN_URL can't be used: {why}", "Use imaps://user:password@host/INBOX or maildir:/path."
    )
