"""What was typed and not filed yet? Kept on the server, so that a reload or a crash loses nothing."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.tickets.models import Draft, Ticket

MOST_DRAFTS = 20
MOST_TYPED = 20_000
Typed = dict[str, list[str]]


def new_token() -> str:
    """A one-time token for a form that is opened."""
    return secrets.token_urlsafe(24)


@transaction.atomic
def save_draft(
    *, offering_version: OfferingVersion, token: str, typed: Mapping[str, Sequence[str]], by: User
) -> Draft | None:
    """Keep what was typed, as it was typed. None when this token has filed its ticket: a late save revives nothing."""
    if Ticket.objects.filter(requester=by, submission_token=token).exists():
        return None
    draft, _ = Draft.objects.update_or_create(
        user=by,
        token=token,
        defaults={"offering_version": offering_version, "typed": _storable(typed), "saved_at": now()},
    )
    _drop_oldest(by)
    return draft


def discard_draft(*, token: str, by: User) -> None:
    """Forget a draft."""
    Draft.objects.visible_to(by).filter(token=token).delete()


def latest_draft(offering: Offering, user: User) -> Draft | None:
    """What `user` typed last for this offering."""
    return Draft.objects.visible_to(user).filter(offering_version__offering=offering).first()


def _storable(typed: Mapping[str, Sequence[str]]) -> Typed:
    """Cut to size, and without the one character that PostgreSQL can't keep."""
    return {
        name[:60]: [text[:MOST_TYPED].replace("\x00", "\ufffd") for text in texts[:60]]
        for name, texts in list(typed.items())[:80]
    }


def _drop_oldest(by: User) -> None:
    too_many = Draft.objects.visible_to(by).values_list("pk", flat=True)[MOST_DRAFTS:]
    Draft.objects.filter(pk__in=list(too_many)).delete()
