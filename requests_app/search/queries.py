"""What does a person find? Tickets by their words, references by their number, offerings, clusters and nodes: all scoped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery, SearchRank, TrigramSimilarity
from django.db import connection, transaction
from django.db.models import Case, CharField, F, Q, QuerySet, Value, When
from django.urls import reverse

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.refs import parse_ref
from provisioning import interface
from requests_app.catalogue.models import Offering
from requests_app.search.models import DocumentQuerySet, SearchDocument, SearchWord
from requests_app.tickets.models import Ticket

LONGEST = 200
CANDIDATES = 200
_REF = re.compile(r"\A([TC])-?([1-9][0-9]{0,17})\Z", re.IGNORECASE)
_PLAIN = re.compile(r"\A\w+(?:[ .]\w+)*\Z")
"""Words without quotes and signs: who writes those knows what they are looking for."""

_WORD = re.compile(r"[^\W\d_]+")
SIMILAR = 0.25


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Something found: what it is, where it is, and a line about it."""

    kind: str
    title: str
    url: str
    ref: str = ""
    says: str = ""
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search gives. `guessed` says that nothing fits the words as typed, and these are near."""

    hits: list[Hit]
    guessed: bool = False


def tidy(text: str) -> str:
    """The words to look for; Invalid for what is too long to be a question."""
    text = " ".join(text.replace("\x00", " ").split())
    if len(text) > LONGEST:
        raise Invalid({"q": [f"Use at most {LONGEST} characters."]})
    return text


def documents(user: User, text: str) -> DocumentQuerySet:
    """Documents that hold the words, in the syntax of web searches: `"a phrase"`, `or`, `-not`."""
    query = SearchQuery(text, config="english", search_type="websearch")
    return SearchDocument.objects.visible_to(user).filter(**{_column(user): query})


def newest(user: User, text: str) -> QuerySet[Ticket]:
    """Tickets that hold the words, for keyset pages by number."""
    return Ticket.objects.filter(pk__in=documents(user, text).values("pk")).for_pages()


def search(user: User, text: str, *, limit: int = 50) -> Found:
    """The best of everything: an exact reference first, then what is called so, then tickets by their words."""
    text = tidy(text)
    if not text:
        return Found(hits=[])
    exact = by_ref(user, text)
    named = [*_offerings(user, text), *_machines(user, text)]
    tickets = _best(user, text, limit)
    guessed = not (exact or named or tickets) and _PLAIN.match(text) is not None
    if guessed:
        tickets = _near(user, text, limit)
    seen = {hit.ref for hit in exact}
    told = [ticket_hit(ticket) for ticket in tickets if ticket.ref not in seen]
    return Found(hits=[*exact, *named, *told][:limit], guessed=guessed and bool(told))


def by_ref(user: User, text: str) -> list[Hit]:
    """`T-12`, `t12` or `C-1`, when the reader may see it."""
    match = _REF.match(text)
    if match is None:
        return []
    kind, number = match[1].upper(), int(match[2])
    if kind == "T":
        ticket = Ticket.objects.visible_to(user).for_pages().filter(pk=number).first()
        return [ticket_hit(ticket)] if ticket else []
    return [hit for hit in _machines(user, f"C-{number}") if hit.ref == f"C-{number}"]


def ticket_hit(ticket: Ticket) -> Hit:
    """A ticket as it is found."""
    return Hit(
        kind="request",
        title=ticket.title,
        url=reverse("tickets:detail", args=[ticket.ref]),
        ref=ticket.ref,
        says=ticket.team.name,
        state=ticket.status,
    )


def _best(user: User, text: str, limit: int) -> list[Ticket]:
    return _best_of(user, SearchQuery(text, config="english", search_type="websearch"), limit)


def _best_of(user: User, query: SearchQuery, limit: int) -> list[Ticket]:
    """The best among the newest: sorting every match of a common word would cost by the size of the house."""
    column = _column(user)
    found = SearchDocument.objects.visible_to(user).filter(**{column: query})
    newest_first = list(found.order_by("-ticket_id").values_list("pk", flat=True)[:CANDIDATES])
    if not newest_first:
        return []
    ranked = SearchDocument.objects.filter(pk__in=newest_first).annotate(fit=SearchRank(F(column), query))
    best = list(ranked.order_by("-fit", "-ticket_id").values_list("pk", flat=True)[:limit])
    return _in_order(user, best)


def _column(user: User) -> str:
    """The notes of the desk are read by infra people alone."""
    return "whole" if user.is_infra else "public"


def _near(user: User, text: str, limit: int) -> list[Ticket]:
    """What words meant that are written almost like those of some title: as many look-ups as words, whatever the size."""
    meant = [_meant(word) for word in _WORD.findall(text.lower())[:8]]
    if not meant or not all(meant):
        return []
    said = " & ".join("(" + " | ".join(f"'{word}'" for word in words) + ")" for words in meant)
    query = SearchQuery(said, config="english", search_type="raw")
    return _best_of(user, query, limit)


def _meant(word: str) -> list[str]:
    """The three words that are most like it."""
    with transaction.atomic():
        with (
            connection.cursor() as cursor
        ):  # two letters that changed places leave less in common than the usual 0.3
            cursor.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(SIMILAR)])
        near = SearchWord.objects.filter(word__trigram_similar=word)
        fit = near.annotate(fit=TrigramSimilarity("word", word)).order_by("-fit", "word")
        return list(fit.values_list("word", flat=True)[:3])


def _in_order(user: User, numbers: list[int]) -> list[Ticket]:
    found = {row.pk: row for row in Ticket.objects.visible_to(user).for_pages().filter(pk__in=numbers)}
    return [found[number] for number in numbers if number in found]


def _offerings(user: User, text: str) -> list[Hit]:
    shelf = Offering.objects.visible_to(user).on_the_shelf()
    named = Q(current__title__icontains=text) | Q(current__promise__icontains=text)
    rows = shelf.filter(named).annotate(
        first=Case(
            When(current__title__icontains=text, then=Value("a")),
            default=Value("b"),
            output_field=CharField(),
        )
    )
    return [
        Hit(
            kind="offering",
            title=row.current.title,
            url=reverse("catalogue:request", args=[row.slug]),
            says=row.current.promise,
        )
        for row in rows.order_by("first", "slug")[:5]
        if row.current is not None
    ]


def _machines(user: User, text: str) -> list[Hit]:
    """Clusters, and for who may look into the fleet its nodes, by name."""
    try:
        number = parse_ref(text.upper(), "C")
    except NotFound:
        number = None
    found = interface.find_machines(user, text, number=number)
    return [
        Hit(
            kind=each.kind,
            title=each.name,
            url=reverse(f"{each.kind}s:detail", args=[each.ref or each.name]),
            ref=each.ref,
            says=each.says,
            state=each.state,
        )
        for each in found
    ]
