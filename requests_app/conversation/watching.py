"""Who follows a ticket? Those who take part, by themselves, and whoever chose to; a mute is only undone by who muted."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from requests_app.conversation.models import Watch, Why
from requests_app.tickets.models import Ticket


def begin(*, ticket: Ticket, people: Iterable[User | int], why: Why) -> None:
    """Let people follow because of what they are to the ticket. Who muted it stays out; twice does no harm."""
    rows = [
        Watch(ticket=ticket, user_id=person.pk if isinstance(person, User) else person, why=why)
        for person in people
    ]
    Watch.objects.bulk_create(rows, ignore_conflicts=True)


@transaction.atomic
def watch(*, ticket: Ticket, by: User) -> Watch:
    """Follow a ticket that one may see."""
    return _choose(ticket, by, muted=False)


@transaction.atomic
def unwatch(*, ticket: Ticket, by: User) -> Watch:
    """Hear nothing of it any more, except where one is named."""
    return _choose(ticket, by, muted=True)


def _choose(ticket: Ticket, by: User, *, muted: bool) -> Watch:
    if not Ticket.objects.visible_to(by).filter(pk=ticket.pk).exists():
        raise NotFound(f"There is no ticket {ticket.ref}.")
    chosen, _ = Watch.objects.update_or_create(
        ticket=ticket, user=by, defaults={"muted": muted}, create_defaults={"muted": muted, "why": Why.CHOSE}
    )
    return chosen


@transaction.atomic
def follow(source: Ticket, target: Ticket) -> None:
    """Who followed `source` follows `target` too: it took the other over. Its mutes aren't taken over."""
    people = Watch.objects.filter(ticket=source, muted=False).values_list("user_id", flat=True)
    begin(ticket=target, people=list(people), why=Why.MERGED)


def watchers_of(ticket: Ticket) -> QuerySet[User]:
    """Who follows it now. Whether they may still see it is asked when something is sent to them."""
    following = Watch.objects.filter(ticket=ticket, muted=False).values("user")
    return User.objects.filter(pk__in=following, is_active=True)


def watches_of(ticket: Ticket) -> list[Watch]:
    """What everybody who is still there is to it, muted or not."""
    return list(Watch.objects.filter(ticket=ticket, user__is_active=True))


def watch_of(ticket: Ticket, user: User) -> Watch | None:
    """What `user` is to it: following, muted, or None."""
    return Watch.objects.filter(ticket=ticket, user=user).first()
