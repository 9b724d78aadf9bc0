"""Where may this person go? The rail's groups by role; what is not theirs isn't shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from portal.accounts.access import Action
from portal.accounts.models import User


@dataclass(frozen=True)
class Link:
    """One line of the rail. `current` is "page" on the page itself, "true" below it, "" elsewhere."""

    title: str
    url: str
    icon: str
    current: str = ""


@dataclass(frozen=True)
class Group:
    """Lines that belong together."""

    title: str
    links: tuple[Link, ...]


def _wanted(user: User) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    yield (
        "Ask",
        [
            ("Catalogue", "catalogue:list", "catalogue"),
            ("All requests" if user.is_infra else "My requests", "tickets:list", "requests"),
            ("Clusters", "clusters:list", "clusters"),
            ("Quotas", "quotas:list", "quotas"),
            ("Inbox", "notify:inbox", "inbox"),
            ("Debt" if user.is_infra else "Workarounds", "debt:list", "debt"),
        ],
    )
    if user.is_triager:
        yield (
            "Decide",
            [
                ("Desk", "desk:queue", "desk"),
                ("Promises", "offers:promises", "orders"),
                ("How fast we are", "clocks:figures", "clock"),
                ("How it went", "outcome:scores", "ok"),
                ("Priority policy", "policy:policy", "settings"),
            ],
        )
    if user.is_operator:
        yield (
            "Operate",
            [
                ("Nodes", "nodes:list", "nodes"),
                ("Jobs", "jobs:list", "jobs"),
                ("Orders", "orders:list", "orders"),
                ("Workers", "workers:overview", "settings"),
                ("Schedules", "schedules:list", "clock"),
                ("Credentials", "credentials:list", "key"),
            ],
        )


def _for_admins(user: User) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    if user.can(Action.CONFIGURE):
        yield "Run", [("Mail room", "notify:mail-room", "settings")]


def menu(user: User | AnonymousUser, path: str) -> tuple[Group, ...]:
    """The groups for `user`; the line whose address `path` is at, or else the nearest above it, is marked."""
    if not isinstance(user, User):
        return ()
    groups = [
        (title, [(name, reverse(url), icon) for name, url, icon in lines])
        for title, lines in (*_wanted(user), *_for_admins(user))
    ]
    above = [url for _, lines in groups for _, url, _ in lines if path.startswith(url)]
    here = max(above, key=len, default="")
    return tuple(
        Group(title, tuple(Link(name, url, icon, _mark(url, here, path)) for name, url, icon in lines))
        for title, lines in groups
    )


def _mark(url: str, here: str, path: str) -> str:
    if url != here:
        return ""
    return "page" if path == url else "true"
