"""What was written and not sent? One text per person, ticket and audience, kept on the server as it is typed."""

from __future__ import annotations

import secrets

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotAllowed
from requests_app.catalogue import texts
from requests_app.conversation.models import CommentDraft
from requests_app.tickets.access import Doing, allows
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import standing_of

MOST_TYPED = 20_000


def new_token() -> str:
    """A one-time token for a form that is opened."""
    return secrets.token_urlsafe(18)


@transaction.atomic
def save_draft(*, ticket: Ticket, text: str, token: str, internal: bool, by: User) -> CommentDraft | None:
    """Keep it; an empty text forgets. None too when this token has sent its comment: a late save revives nothing."""
    if not allows(Doing.NOTE if internal else Doing.COMMENT, standing_of(ticket, by)):
        raise NotAllowed("You may not write that here.")
    token = token[:80].replace("\x00", "") or new_token()
    sent = Comment.objects.filter(author=by, token=token).exists()
    if sent or not text.strip():
        forget_draft(ticket=ticket, internal=internal, by=by, token=token)
        return None
    kept = {"text": _storable(text), "token": token, "saved_at": now()}
    draft, _ = CommentDraft.objects.update_or_create(user=by, ticket=ticket, internal=internal, defaults=kept)
    return draft


def _storable(text: str) -> str:
    """Cut to size; what a comment may not hold, because it can't be seen or turns a line around, is made visible."""
    text = text[:MOST_TYPED].replace("\r\n", "\n")
    return "".join(each if texts.complaint(each, limit=1, lines=True) is None else "\ufffd" for each in text)


def forget_draft(*, ticket: Ticket, internal: bool, by: User, token: str | None = None) -> None:
    """Throw it away; with a token only if it is that form's."""
    drafts = CommentDraft.objects.filter(user=by, ticket=ticket, internal=internal)
    (drafts if token is None else drafts.filter(token=token)).delete()


def draft_of(ticket: Ticket, user: User, *, internal: bool) -> CommentDraft | None:
    """One of them."""
    return drafts_of(ticket, user).get(internal)


def drafts_of(ticket: Ticket, user: User) -> dict[bool, CommentDraft]:
    """What `user` has half-written here, by whether it is a note for infra."""
    return {row.internal: row for row in CommentDraft.objects.visible_to(user).filter(ticket=ticket)}
