"""Which chat rooms hear of a request, and how are they told? The portal's own and the team's, facts only."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from portal.accounts.access import Action
from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.services import record
from portal.notify import egress, events
from portal.notify.chat_text import line
from portal.notify.models import ChatRoom, Notification
from portal.notify.writing import absolute, place_of
from requests_app.tickets.models import Ticket

PORTAL = "portal"


def rooms_for(ticket: Ticket | None) -> list[str]:
    """Names of the rooms: `portal`, and `team:7` for a ticket of a team that has one."""
    rooms = [PORTAL] if settings.CHAT_URL else []
    if ticket is not None and ChatRoom.objects.filter(team=ticket.team_id).exists():
        rooms.append(f"team:{ticket.team_id}")
    return rooms


def send(message: Notification) -> None:
    """Tell the room; an answer that isn't 2xx is a failure, and so is a redirect."""
    url = _url(message.target)
    ticket = message.ticket
    text = line(
        ref=ticket.ref if ticket else "",
        title=ticket.title if ticket else "",
        said=message.title,
        url=absolute(place_of(message)) if ticket else "",
    )
    status = egress.post_json(url, {"text": text}, allowed=settings.CHAT_ALLOWED_HOSTS)
    if not 200 <= status < 300:
        raise OSError(f"the chat answered {status}")


def _url(room: str) -> str:
    if room == PORTAL:
        return str(settings.CHAT_URL or "")
    found = (
        ChatRoom.objects.filter(team=int(room.partition(":")[2] or 0))
        .values_list("secret_url", flat=True)
        .first()
    )
    return found or ""


@transaction.atomic
def set_room(*, team: Team, url: str, by: User) -> None:
    """Where a team is told in its chat; an empty address ends it. Its leads and admins."""
    if not by.leads(team) and not by.can(Action.CONFIGURE):
        raise NotAllowed("Only leads of a team, and admins, set its chat.")
    url = url.strip()
    if url:
        said = egress.complaint(url[:500], allowed=settings.CHAT_ALLOWED_HOSTS)
        if len(url) > 500:
            said = "An address has at most 500 characters."
        if said is not None:
            raise Invalid({"url": [said]})
        ChatRoom.objects.update_or_create(team=team, defaults={"secret_url": url, "set_by": by})
    else:
        ChatRoom.objects.filter(team=team).delete()
    record(events.CHAT_SET, subject=f"team:{team.slug}", payload={"set": bool(url)}, by=by)
