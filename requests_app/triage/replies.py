"""Which canned texts does the desk have, and how do they read for one ticket?"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from portal.accounts.models import User
from portal.accounts.names import plain_name
from portal.kernel.errors import Invalid, NotFound
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue import texts
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.triage import placeholders
from requests_app.triage.models import ReplyTemplate, ReplyUse


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A canned text, filled for one ticket and one writer."""

    name: str
    use: str
    text: str


def replies_for(ticket: Ticket, by: User) -> list[Reply]:
    """Every canned text as it reads for this ticket."""
    values = {
        "requester": ticket.requester.get_full_name() or ticket.requester.username,
        "team": ticket.team.name,
        "title": ticket.title,
        "ref": ticket.ref,
        "offering": ticket.offering_version.title,
        "me": by.get_full_name() or by.username,
    }
    rows = ReplyTemplate.objects.order_by("name")
    return [Reply(name=row.name, use=row.use, text=placeholders.fill(row.body, values)) for row in rows]


@transaction.atomic
def save_reply(*, name: str, use: str, body: str, by: User) -> ReplyTemplate:
    """Keep a canned text; one of the same name is written over."""
    only_triagers(by)
    found: dict[str, list[str]] = {}
    try:
        name = plain_name(name, longest=60)
    except ValueError as problem:
        found["name"] = [str(problem)]
    if use not in ReplyUse.values:
        found["use"] = [f"Choose one of: {', '.join(ReplyUse.values)}."]
    body = texts.tidy(body, limit=texts.LONG)
    said = texts.complaint(body, limit=texts.LONG, lines=True) or placeholders.complaint(body)
    if said or not body:
        found["body"] = [said or "Say something."]
    if found:
        raise Invalid(found)
    row, _ = ReplyTemplate.objects.update_or_create(
        name=name,
        defaults={"use": use, "body": body},
        create_defaults={"use": use, "body": body, "made_by": by},
    )
    record(events.REPLY_SAVED, subject="desk:replies", payload={"name": name, "use": use}, by=by)
    return row


@transaction.atomic
def drop_reply(*, number: int, by: User) -> None:
    """Throw a canned text away."""
    only_triagers(by)
    row = ReplyTemplate.objects.filter(pk=number).first()
    if row is None:
        raise NotFound("There is no such text.")
    record(events.REPLY_DROPPED, subject="desk:replies", payload={"name": row.name}, by=by)
    row.delete()
