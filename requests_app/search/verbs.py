"""What can be done from the palette? Pages and verbs by name, filtered by what this person may do."""

from __future__ import annotations

from django.urls import reverse

from portal.accounts.models import User
from requests_app.search.queries import Hit
from requests_app.tickets.access import Doing, possible
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import standing_of

_PAGES: tuple[tuple[str, str, str], ...] = (
    ("Catalogue", "catalogue:list", ""),
    ("Requests", "tickets:list", ""),
    ("Drafts", "tickets:drafts", ""),
    ("Clusters", "clusters:list", ""),
    ("Quotas", "quotas:list", ""),
    ("Profile", "accounts:profile", ""),
    ("Inbox of the desk", "desk:queue", "triager"),
    ("Keys of the desk", "desk:keys", "triager"),
    ("Triage duty", "desk:rota", "triager"),
    ("Canned texts", "desk:replies", "triager"),
    ("Bulk runs", "desk:bulk", "triager"),
    ("Nodes", "nodes:list", "operator"),
    ("Jobs", "jobs:list", "operator"),
    ("Orders", "orders:list", "operator"),
)
_AT_THE_DESK = {
    Doing.APPROVE: "Accept",
    Doing.DECLINE: "Decline",
    Doing.ASK_BACK: "Ask about",
    Doing.TAKE: "Assign",
}


def verbs_for(user: User, q: str, *, about: str) -> list[Hit]:
    """Pages whose name holds the words, and verbs for the request that is open."""
    words = q.lower()
    return [*_about(user, words, about), *_pages(user, words)]


def _pages(user: User, words: str) -> list[Hit]:
    roles = {"": True, "triager": user.is_triager, "operator": user.is_operator}
    return [
        Hit(kind="page", title=title, url=reverse(name))
        for title, name, role in _PAGES
        if roles[role] and words in title.lower()
    ]


def _about(user: User, words: str, about: str) -> list[Hit]:
    """Verbs lead to the desk with the request under the cursor; a request out of sight has none."""
    number = about[2:] if about.startswith("T-") and about[2:].isdecimal() and len(about) < 20 else ""
    ticket = Ticket.objects.visible_to(user).filter(pk=int(number)).first() if number else None
    if ticket is None or not user.is_triager:
        return []
    may = possible(standing=standing_of(ticket, user), state=ticket.status)
    url = f"{reverse('desk:queue')}?open={ticket.ref}"
    return [
        Hit(kind="do", title=f"{title} {ticket.ref}", url=url, says=ticket.title)
        for doing, title in _AT_THE_DESK.items()
        if doing in may and words in f"{title} {ticket.ref}".lower()
    ]
