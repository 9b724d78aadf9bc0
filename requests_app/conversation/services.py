"""What do people say about a ticket? A comment once however often it is sent, edited with its older wordings kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from portal.accounts.leaks import without_secrets
from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.attachments.services import Upload, keep_files
from requests_app.catalogue import texts
from requests_app.conversation import watching
from requests_app.conversation.drafts import forget_draft
from requests_app.conversation.mentions import names_in
from requests_app.conversation.models import CommentRevision, Why
from requests_app.conversation.readers import readers_named
from requests_app.tickets.access import Doing, allows
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import standing_of


def comment(
    *,
    ticket: Ticket,
    body: str,
    internal: bool = False,
    token: str | None = None,
    files: Sequence[Upload] = (),
    by_mail: bool = False,
    by: User,
) -> Comment:
    """Say something about the ticket; an internal note is for infra staff alone.

    Sent again with the same `token` and text it gives the same comment again; with another text it is a Conflict with
    code `idempotency-key-reused`, and nothing is lost: the text is still with who sent it.
    """
    if not allows(Doing.NOTE if internal else Doing.COMMENT, standing_of(ticket, by)):
        what = "write a note for infra on" if internal else "comment on"
        raise NotAllowed(f"You may see {ticket.ref}, but you may not {what} it.")
    body = _body(body, needed=not files)
    token = token[:80].replace("\x00", "") if token else None
    try:
        with transaction.atomic():
            body = without_secrets(body, where=ticket.ref, by=by)
            again = _sent_before(token, ticket, body, internal, by)
            return again or _say(ticket, body, internal, token, files, by_mail, by)
    except IntegrityError:  # the other half of a double click was quicker
        again = _sent_before(token, ticket, body, internal, by)
        if again is None:
            raise
        return again


def _say(
    ticket: Ticket,
    body: str,
    internal: bool,  # noqa: FBT001 - as the public function took it
    token: str | None,
    files: Sequence[Upload],
    by_mail: bool,  # noqa: FBT001 - as the public function took it
    by: User,
) -> Comment:
    made = Comment.objects.create(
        ticket=ticket, author=by, body=body, internal=internal, token=token, by_mail=by_mail
    )
    kept = keep_files(ticket=ticket, files=files, comment=made, by=by)
    named = readers_named(ticket, names_in(body), internal=internal)
    watching.begin(ticket=ticket, people=[by], why=Why.COMMENTED)
    watching.begin(ticket=ticket, people=named, why=Why.MENTIONED)
    forget_draft(ticket=ticket, internal=internal, by=by)
    payload = {
        "team": ticket.team.slug,
        "comment": made.pk,
        "internal": internal,
        "mentions": [person.pk for person in named],
        "files": len(kept),
    }
    record(events.TICKET_COMMENTED, subject=ticket.ref, payload=payload, by=by)
    return made


def _sent_before(
    token: str | None,
    ticket: Ticket,
    body: str,
    internal: bool,  # noqa: FBT001 - as the public function took it
    by: User,
) -> Comment | None:
    if token is None:
        return None
    sent = Comment.objects.filter(author=by, token=token).first()
    if sent is None:
        return None
    first = sent.revisions.order_by("number").values_list("body", flat=True).first() or sent.body
    if (sent.ticket_id, sent.internal, first) != (ticket.pk, internal, body):
        raise Conflict(
            "This form has sent its comment already, with another text. What you wrote now is not sent; send it again.",
            code="idempotency-key-reused",
            data={"comment": sent.pk},
        )
    return sent


@transaction.atomic
def edit_comment(*, comment: Comment, version: int, body: str, by: User) -> Comment:
    """Say it better: its author, for a while. The older wording stays for who may read the comment.

    LostRace carries both texts, so that a stale form loses neither.
    """
    if comment.author_id != by.pk:
        raise NotAllowed("Only who wrote a comment edits it.")
    if not can_edit(comment, by):
        raise NotAllowed(
            f"A comment is edited within {settings.COMMENT_EDIT_MINUTES} minutes; write another one."
        )
    body = without_secrets(_body(body), where=comment.ticket.ref, by=by)
    changes = {"body": body, "edited_at": now(), "version": F("version") + 1}
    old = Comment.objects.select_for_update().get(pk=comment.pk)
    if old.version != version:
        raise LostRace(
            "This comment was edited meanwhile. Your text is not lost; compare both and send again.",
            data={"now": old.body, "yours": body, "version": old.version},
        )
    if old.body == body:
        return old
    CommentRevision.objects.create(comment=old, number=old.version, body=old.body)
    Comment.objects.filter(pk=old.pk).update(**changes)
    before = set(names_in(old.body))
    fresh_names = [name for name in names_in(body) if name not in before]
    named = readers_named(comment.ticket, fresh_names, internal=old.internal)
    watching.begin(ticket=comment.ticket, people=named, why=Why.MENTIONED)
    payload = {"comment": old.pk, "internal": old.internal, "mentions": [person.pk for person in named]}
    record(events.TICKET_COMMENT_EDITED, subject=comment.ticket.ref, payload=payload, by=by)
    old.refresh_from_db()
    return old


@transaction.atomic
def hide_comment(*, comment: Comment, by: User) -> Comment:
    """Make a comment an internal note: infra staff, when something stands there that must not. Twice does no harm."""
    if not by.is_infra:
        raise NotAllowed("Only infra people keep a comment among themselves.")
    changed = Comment.objects.filter(pk=comment.pk, internal=False).update(
        internal=True, version=F("version") + 1
    )
    if changed:
        payload = {"comment": comment.pk, "internal": True}
        record(events.TICKET_COMMENT_HIDDEN, subject=comment.ticket.ref, payload=payload, by=by)
    comment.refresh_from_db()
    return comment


def can_edit(comment: Comment, user: User) -> bool:
    """True while `user` may still change the wording."""
    window = timedelta(minutes=settings.COMMENT_EDIT_MINUTES)
    return comment.author_id == user.pk and now() - comment.at <= window


def _body(text: str, *, needed: bool = True) -> str:
    tidy = texts.tidy(text, limit=texts.LONG)
    said = texts.complaint(tidy, limit=texts.LONG, lines=True)
    if said is None and needed and not tidy:
        said = "Say it in a sentence."
    if said is not None:
        raise Invalid({"body": [said]})
    return tidy
