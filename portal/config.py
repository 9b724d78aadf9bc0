"""What does the environment say? Read once, typed, frozen; nobody else reads os.environ."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent
PREFIX = "PORTAL_"


class ConfigError(Exception):
    """A PORTAL_ variable that can't be used; the message says which and what would do."""


def _flag(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError("use 1 or 0")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError("use 0 or more")
    return number


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _optional(text: str) -> str | None:
    return text.strip() or None


def _sites(text: str) -> tuple[str, ...]:
    """Names of sites; `-` is the one without a name."""
    words = _words(text)
    for word in words:
        if word != "-" and re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?", word) is None:
            raise ValueError(f"{word[:40]!r} is no site: use small letters, digits and hyphens, at most 20")
    return words


def _whole(text: str) -> int | None:
    """A number from 1 on, or None."""
    if not text.strip():
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("use a whole number from 1 on, or leave it empty")
    return int(text)


def _prices(text: str) -> tuple[tuple[str, Decimal], ...]:
    """`h100-sxm5-80g=2.10, a100-sxm4-80g=1.20` as pairs."""
    found = []
    for word in _words(text):
        slug, _, price = word.partition("=")
        try:
            amount = Decimal(price.strip())
        except InvalidOperation as problem:
            raise ValueError("use SKU=PRICE, separated by commas, such as h100-sxm5-80g=2.10") from problem
        if not slug.strip() or not amount.is_finite() or amount < 0:
            raise ValueError("use SKU=PRICE with a price of 0 or more")
        found.append((slug.strip(), amount))
    return tuple(found)


def setting(default: Any, read: Callable[[str], Any], says: str, *, secret: bool = False) -> Any:
    """A field of Config: its default, how its text is read, and the sentence the docs and `doctor` print."""
    return field(default=default, metadata={"read": read, "says": says, "secret": secret})


@dataclass(frozen=True, kw_only=True)
class Config:
    """Every setting of a deployment. NAME is read from PORTAL_NAME, or from the file in PORTAL_NAME_FILE."""

    base_dir: Path = BASE_DIR
    var_dir: Path = setting(
        BASE_DIR / "var", Path, "Folder for everything the portal writes on this machine."
    )
    database_url: str | None = setting(
        None, _optional, "PostgreSQL to use; empty starts an embedded one.", secret=True
    )
    web_connections: int = setting(
        20,
        _count,
        "Most connections to the database that one web process keeps for its requests; 0 opens one for each request.",
    )
    broker_url: str | None = setting(
        None, _optional, "Celery broker (amqp:// or redis://); empty starts an embedded Valkey.", secret=True
    )
    secret_key: str | None = setting(
        None, _optional, "Signs sessions and derives keys; empty makes one in the var folder.", secret=True
    )
    credential_keys: tuple[str, ...] = setting(
        (),
        _words,
        "Keys that seal credentials, newest first, separated by commas; empty uses one that follows from the secret key.",
        secret=True,
    )
    debug: bool = setting(default=False, read=_flag, says="Django's debug pages; never in production.")
    host: str = setting("127.0.0.1", str, "Address the web server listens on.")
    port: int | None = setting(None, int, "Port of the web server; empty takes 8000 or the next free one.")
    allowed_hosts: tuple[str, ...] = setting(
        ("localhost", "127.0.0.1", "[::1]"), _words, "Host names the portal answers to, separated by commas."
    )
    csrf_trusted_origins: tuple[str, ...] = setting(
        (), _words, "Origins (https://...) that may post forms when a proxy stands in front."
    )
    https: bool = setting(
        default=False,
        read=_flag,
        says="The portal is reached by https only: secure cookies, HSTS, redirects.",
    )
    time_zone: str = setting("UTC", str, "Time zone of pages for people who have not chosen one.")
    ssh_key_file: Path | None = setting(
        None,
        lambda text: Path(text) if text.strip() else None,
        "Private key Ansible reaches real nodes with.",
    )
    job_lease_seconds: int = setting(30, int, "How long a worker may be silent before its job is taken over.")
    worker_sites: tuple[str, ...] = setting(
        (),
        _sites,
        "Sites whose nodes this machine's workers reach, separated by commas; - is the one without a name, and the default.",
    )
    worker_slots: int | None = setting(
        None, _whole, "How many jobs run here at once; empty lets memory and cores decide."
    )
    job_forks: int | None = setting(
        None,
        _whole,
        "How many nodes one job talks to at the same time at most; empty lets memory and cores decide.",
    )
    job_mitogen: bool = setting(
        default=False,
        read=_flag,
        says="Run playbooks through Mitogen where it is installed, ansible-core takes it, and every node is behind SSH.",
    )
    node_swap_limit: int = setting(2, int, "How many unfit nodes one order replaces before a person decides.")
    keep_events_days: int = setting(
        90, int, "Days that what playbooks said is kept; whole months go, and never those of open requests."
    )
    keep_results_days: int = setting(
        1095, int, "Days that endings, measurements and findings of nodes are kept."
    )
    keep_jobs_days: int = setting(
        0, int, "Days that jobs are kept which belong to no order; 0 keeps them for ever."
    )
    comment_edit_minutes: int = setting(30, int, "How long a comment may be edited by who wrote it.")
    attachment_mib: int = setting(25, int, "Most MiB of one attached file.")
    attachments_ticket_mib: int = setting(200, int, "Most MiB of all files of one request.")
    attachments_team_mib: int = setting(2048, int, "Most MiB of all files of one team's requests.")
    gpu_hour_prices: tuple[tuple[str, Decimal], ...] = setting(
        (), _prices, "Price of a GPU-hour by SKU, such as h100-sxm5-80g=2.10; without one a cost is unknown."
    )
    currency: str = setting("EUR", str, "Currency of the prices, three letters.")
    public_url: str = setting(
        "http://127.0.0.1:8000", str, "Address people reach the portal at, for links in mail and chat."
    )
    mail_url: str | None = setting(
        None,
        _optional,
        "Server that mail goes out by: smtp://user:password@host:587 or smtps://; empty keeps mail as rows.",
        secret=True,
    )
    mail_from: str = setting(
        "Quartermaster <quartermaster@localhost>",
        str,
        "Sender of mail; replies go to reply+…@ the same domain.",
    )
    mail_in_url: str | None = setting(
        None,
        _optional,
        "Mailbox that replies arrive in: imaps://user:password@host/INBOX or maildir:/path; empty takes none.",
        secret=True,
    )
    notify_delay_seconds: int = setting(
        20, int, "How long a message waits, so that what is taken back at once is told to nobody."
    )
    digest_hour: int = setting(8, int, "Hour of a person's own day at which the daily summary is mailed.")
    chat_url: str | None = setting(
        None, _optional, "Incoming webhook (Slack, Mattermost) that is told what happens; https.", secret=True
    )
    chat_allowed_hosts: tuple[str, ...] = setting(
        (), _words, "host:port of chat servers inside the own network, by http too, separated by commas."
    )
    log_level: str = setting("INFO", str.upper, "Least level that is logged.")


def read_config(environment: Mapping[str, str]) -> Config:
    """Build a Config; ConfigError names each variable that is unknown or can't be read."""
    known = {PREFIX + entry.name.upper(): entry for entry in fields(Config) if entry.metadata}
    complaints: list[str] = []
    values: dict[str, Any] = {}
    for name, text in sorted(environment.items()):
        if not name.startswith(PREFIX):
            continue
        plain = name.removesuffix("_FILE") if name not in known else name
        entry = known.get(plain)
        if entry is None:
            complaints.append(
                f"{name} is not a setting of the portal; `manage.py doctor --variables` lists them"
            )
            continue
        try:
            raw = Path(text).read_text(encoding="utf-8").strip() if plain != name else text
            values[entry.name] = entry.metadata["read"](raw)
        except (OSError, ValueError) as problem:
            complaints.append(f"{name} can't be used: {problem}")
    if complaints:
        raise ConfigError("; ".join(complaints))
    return Config(**values)


@cache
def config() -> Config:
    """The Config of this process."""
    return read_config(os.environ)  # noqa: TID251 - the one reader


def environment_for(**changes: object) -> dict[str, str]:
    """This process's environment with settings changed, for a child: `environment_for(var_dir=...)`."""
    changed = {PREFIX + name.upper(): str(value) for name, value in changes.items()}
    return {**os.environ, **changed}  # noqa: TID251 - the one reader
