"""How is a fact said in a chat room? One line that calls nobody, whatever people typed into it. Pure."""

from __future__ import annotations

_QUIET = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "@": "@\u200b",
        "`": "'",
        "*": "\u2217",
        "_": "\u02cd",
        "|": "\u00a6",
    }
)


def line(*, ref: str, title: str, said: str, url: str) -> str:
    """`<https://…|T-12> Training cluster: Approved`, as Slack and Mattermost read it."""
    about = f"<{url}|{quiet(ref)}> {quiet(title)}: " if ref else ""
    return f"{about}{quiet(said)}"


def quiet(text: str) -> str:
    """`text` in one line, with everything that a chat would act on made harmless."""
    return " ".join(text.split())[:300].translate(_QUIET)
