"""Who is told of an event? People by what they are to it, those alone who may see it, and never who did it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from portal.accounts.access import Action, StaffRole, may
from portal.accounts.models import User
from portal.kernel.errors import NotFound
from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from portal.notify.kinds import STAFF_ONLY, Audience, Channel, Kind
from portal.notify.models import Notification
from portal.notify.states import MessageState
from requests_app.conversation.readers import readers_of
from requests_app.conversation.watching import watchers_of
from requests_app.tickets.models import Ticket
from requests_app.tickets.sentences import HIDDEN_FROM_TEAMS

TRIAGERS = tuple(role.value for role in StaffRole if may(role, Action.DECIDE_TICKETS))
ADMINS = tuple(role.value for role in StaffRole if may(role, Action.CONFIGURE))
OPERATORS = tuple(role.value for role in StaffRole if may(role, Action.RUN_JOBS))
_ROLES = {Audience.ADMINS: ADMINS, Audience.OPERATORS: OPERATORS}


def ticket_of(event: Event) -> Ticket | None:
    """The ticket that an event is about."""
    for ref in (event.subject, event.payload.get("ticket"), event.payload.get("for")):
        if isinstance(ref, str) and ref.startswith("T-"):
            try:
                number = parse_ref(ref.partition("/")[0], "T")
            except NotFound:
                continue
            found = Ticket.objects.select_related("team", "assignee").filter(pk=number).first()
            if found is not None:
                return found
    return None


def is_staff_only(event: Event) -> bool:
    """True for what teams don't hear of."""
    return (
        event.payload.get("internal") is True or event.name in STAFF_ONLY or event.name in HIDDEN_FROM_TEAMS
    )


def people_told(event: Event, kind: Kind, ticket: Ticket | None) -> dict[int, Audience]:
    """Who is told, with the first reason why. Whoever may not see it now, or did it, is not among them."""
    told: dict[int, Audience] = {}
    for audience in kind.to:
        for pk in _of(audience, event, ticket):
            told.setdefault(pk, audience)
    if event.actor_id is not None:
        told.pop(event.actor_id, None)
    allowed = set(_allowed(event, ticket).filter(pk__in=told).values_list("pk", flat=True))
    return {pk: why for pk, why in told.items() if pk in allowed}


def _allowed(event: Event, ticket: Ticket | None) -> QuerySet[User]:
    if ticket is not None:
        return readers_of(ticket, internal=is_staff_only(event))
    return User.objects.filter(is_active=True)


def _of(audience: Audience, event: Event, ticket: Ticket | None) -> Iterable[int]:
    active = User.objects.filter(is_active=True)
    if audience is Audience.NAMED:
        return _numbers(event.payload.get("mentions"))
    if audience is Audience.OWNER:
        return _numbers([event.payload.get("owner")])
    if audience in _ROLES:
        return active.filter(staff_role__in=_ROLES[audience]).values_list("pk", flat=True)
    if audience is Audience.TOLD:
        return _who_knows(_numbers(event.payload.get("undoes")))
    if audience is Audience.TEAM:
        team = str(event.payload.get("team", ""))
        slug = Q(memberships__team__slug=team)
        where = slug if ticket is None else Q(memberships__team_id=ticket.team_id)
        return active.filter(where).values_list("pk", flat=True)
    return _around(audience, ticket)


def _around(audience: Audience, ticket: Ticket | None) -> Iterable[int]:
    triagers = User.objects.filter(is_active=True, staff_role__in=TRIAGERS)
    if audience is Audience.DESK:
        with_whom = None if ticket is None else ticket.assignee_id
        return triagers.values_list("pk", flat=True) if with_whom is None else [with_whom]
    if ticket is None:
        return []
    if audience is Audience.ASSIGNEE:
        return [] if ticket.assignee_id is None else [ticket.assignee_id]
    return watchers_of(ticket).values_list("pk", flat=True)


def _who_knows(events: list[int]) -> Iterable[int]:
    """Who has read of these events, or was mailed: only they have to hear that it was taken back."""
    told = Q(channel=Channel.MAIL, status=MessageState.SENT) | Q(channel=Channel.INBOX, read_at__isnull=False)
    rows = Notification.objects.filter(told, event__in=events, recipient__isnull=False)
    return rows.values_list("recipient_id", flat=True)


def _numbers(value: object) -> list[int]:
    listed = value if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
