"""How does a mail read? Plain text and simple HTML of the same facts, in one thread per request. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

CUT_HERE = "--- reply above this line ---"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One thing that happened: a sentence, what was written, and where it can be looked at."""

    title: str
    body: str = ""
    html: str = ""
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """What a mail says, before it has a sender."""

    subject: str
    text: str
    html: str


def one_line(text: str, longest: int = 200) -> str:
    """Fit for a header: one line, not too long."""
    return " ".join(text.split())[:longest]


def letter(
    *, ref: str, title: str, facts: Sequence[Fact], url: str, why: str, settings_url: str, can_reply: bool
) -> Letter:
    """A mail about one request, or about the portal itself when `ref` is empty."""
    subject = one_line(f"[{ref}] {title}" if ref else title)
    return Letter(
        subject=subject,
        text=_text(facts, url, why, settings_url, can_reply=can_reply),
        html=_html(facts, url, why, settings_url, can_reply=can_reply),
    )


def digest(*, groups: Sequence[tuple[str, str, Sequence[Fact]]], settings_url: str) -> Letter:
    """A mail about several requests: (heading, address, what happened) each."""
    count = sum(len(facts) for _, _, facts in groups)
    text, html = [], []
    for heading, url, facts in groups:
        text += ["", heading, url, *(line for fact in facts for line in _fact_text(fact, short=True))]
        html.append(f'<h3><a href="{escape(url)}">{escape(heading)}</a></h3>')
        html += [_fact_html(fact, short=True) for fact in facts]
    why = "Your daily summary."
    news = "1 thing" if count == 1 else f"{count} things"
    return Letter(
        subject=f"What happened: {news}",
        text="\n".join([*text, "", *_foot(why, settings_url)]).lstrip("\n"),
        html=_page("".join(html), why, settings_url),
    )


def _text(facts: Sequence[Fact], url: str, why: str, settings_url: str, *, can_reply: bool) -> str:
    lines = [CUT_HERE, ""] if can_reply else []
    for fact in facts:
        lines += [*_fact_text(fact), ""]
    return "\n".join([*lines, url, "", *_foot(why, settings_url)])


def _fact_text(fact: Fact, *, short: bool = False) -> list[str]:
    body = one_line(fact.body, 160) if short else fact.body
    lines = [f"* {fact.title}"]
    lines += [f"  {line}" if short else line for line in body.splitlines()]
    return lines


def _foot(why: str, settings_url: str) -> list[str]:
    return ["-- ", why, f"Choose what you hear of: {settings_url}"]


def _html(facts: Sequence[Fact], url: str, why: str, settings_url: str, *, can_reply: bool) -> str:
    cut = f"<p>{CUT_HERE}</p>" if can_reply else ""
    link = f'<p><a href="{escape(url)}">{escape(url)}</a></p>'
    return _page(cut + "".join(_fact_html(fact) for fact in facts) + link, why, settings_url)


def _fact_html(fact: Fact, *, short: bool = False) -> str:
    if short:
        said = f": {escape(one_line(fact.body, 160))}" if fact.body else ""
        return f"<p>{escape(fact.title)}{said}</p>"
    plain = "".join(f"<p>{escape(line)}</p>" for line in fact.body.splitlines() if line.strip())
    return f"<p><strong>{escape(fact.title)}</strong></p>{fact.html or plain}"


def _page(content: str, why: str, settings_url: str) -> str:
    return (
        f'<html lang="en"><body>{content}<hr><p><small>{escape(why)} '
        f'<a href="{escape(settings_url)}">Choose what you hear of</a>.</small></p></body></html>'
    )


def thread_root(ref: str, domain: str) -> str:
    """The Message-ID that all mails about one request refer to, so that mail programs show them as one thread."""
    digest_ = hashlib.sha256(f"{ref}@{domain}".encode()).hexdigest()[:12]
    return f"<{ref.lower() or 'portal'}.{digest_}@{domain}>"


def message_id(number: int, ref: str, domain: str) -> str:
    """Of the mail whose first message has this number: the same at every attempt, so that a doubled one is seen as one."""
    return f"<message-{number}.{ref.lower() or 'portal'}@{domain}>"
