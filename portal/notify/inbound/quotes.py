"""Which part of a mail did its writer write just now? What they answered to, and their signature, are cut away. Pure."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from portal.notify.letters import CUT_HERE

LONGEST_LINE = 2000
_QUOTED = re.compile(r"\s*>")
_SIGNATURE = re.compile(r"-- ?\Z")
_ATTRIBUTION = re.compile(
    r"(on|am|le|el|op|il|em|den)\b.{0,300}\b(wrote|schrieb|a écrit|escribió|schreef|ha scritto|escreveu|skrev).{0,120}:\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_DIVIDERS = (
    re.compile(
        r"-{2,}\s*(original message|ursprüngliche nachricht|message d'origine|forwarded message).{0,80}\Z",
        re.I,
    ),
    re.compile(r"_{20,}\s*\Z"),
    re.compile(r"(begin forwarded message|anfang der weitergeleiteten nachricht):\s*\Z", re.I),
)
_HEADER = re.compile(r"\*?(from|von|de|sent|gesendet|date|to|an|subject|betreff)\*?:\*?\s", re.I)


def new_text(text: str) -> str:
    """What is new in a plain text mail: quotes, attributions, dividers and the signature are left out."""
    lines = [
        line[:LONGEST_LINE].rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    lines = lines[: _end(lines)]
    kept = [line for line in _without_attributions(lines) if not _QUOTED.match(line)]
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))


def _end(lines: list[str]) -> int:
    """The line at which everything below is somebody else's, or the signature."""
    for number, line in enumerate(lines):
        bare = line.lstrip("> ").strip()
        if CUT_HERE in bare or _SIGNATURE.fullmatch(line):
            return number
        if any(divider.match(bare) for divider in _DIVIDERS) or _is_header_block(lines, number):
            return number
    return len(lines)


def _is_header_block(lines: list[str], number: int) -> bool:
    """`From:`, `Sent:`, `To:` under each other, as some programs put above what they quote."""
    block = [line for line in lines[number : number + 4] if _HEADER.match(line)]
    return len(block) >= 3 and bool(_HEADER.match(lines[number]))


def _without_attributions(lines: list[str]) -> list[str]:
    """`On Monday, somebody wrote:`, on one line or on up to three, where a quote or the end follows."""
    kept: list[str] = []
    number = 0
    while number < len(lines):
        length = next((n for n in (1, 2, 3) if _attributes(lines, number, n)), 0)
        if length:
            number += length
            continue
        kept.append(lines[number])
        number += 1
    return kept


def _attributes(lines: list[str], number: int, length: int) -> bool:
    if number + length > len(lines) or any(not line for line in lines[number : number + length]):
        return False
    if not _ATTRIBUTION.match(" ".join(lines[number : number + length]).strip()):
        return False
    following = next((line for line in lines[number + length :] if line), None)
    return following is None or bool(_QUOTED.match(following))


class _Words(HTMLParser):
    """The words of an HTML mail; what is quoted in it, its styles and scripts are left out."""

    BREAKS = frozenset({"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "ul", "ol", "table", "pre"})
    SILENT = frozenset({"style", "script", "head", "title", "blockquote", "template"})
    QUOTES = (
        "gmail_quote",
        "yahoo_quoted",
        "moz-cite-prefix",
        "protonmail_quote",
        "divrplyfwdmsg",
        "appendonsend",
    )
    VOID = frozenset({"br", "img", "hr", "meta", "link", "input", "col", "area", "base", "wbr", "source"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.silent: list[str] = []
        self.ended = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, or begin to be silent."""
        names = " ".join(value or "" for name, value in attrs if name in ("class", "id")).lower()
        if "divrplyfwdmsg" in names or "appendonsend" in names:
            self.ended = True  # below it is the mail that was answered, without anything around it
        if self.silent or tag in self.SILENT or any(quote in names for quote in self.QUOTES):
            if tag not in self.VOID:
                self.silent.append(tag)
        elif tag in self.BREAKS:
            self.words.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        """End silence where it began; tags that are closed in a wrong order end what is inside them."""
        if tag in self.silent:
            while self.silent and self.silent.pop() != tag:
                pass
        elif tag in self.BREAKS and not self.silent:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        """Words, unless they are silent ones."""
        if not self.silent and not self.ended:
            self.words.append(re.sub(r"[ \t\r\n\xa0]+", " ", data))


def html_words(html: str) -> str:
    """The new words of an HTML mail as plain text."""
    reader = _Words()
    reader.feed(html)
    reader.close()
    lines = [line.strip() for line in "".join(reader.words).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
