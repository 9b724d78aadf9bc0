"""What does a ticket's page need of its conversation? The composer, the story and the watch card ask; the page needn't know."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.attachments.models import Attachment
from requests_app.conversation import drafts, watching
from requests_app.conversation.services import can_edit
from requests_app.conversation.thread import Entry, Story, Thread
from requests_app.tickets.access import Doing
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import TicketView

register = template.Library()


@dataclass(frozen=True, kw_only=True)
class Box:
    """A form to write in. `key` names it in this browser."""

    name: str
    label: str
    internal: bool
    text: str
    token: str
    key: str


@register.simple_tag(takes_context=True)
def composer_boxes(context: dict[str, Any], view: TicketView) -> list[Box]:
    """The comment's form and, for infra staff, the note's: two, so that a note never goes out by a forgotten tick."""
    user = context["request"].user
    found: list[Box] = []
    written = drafts.drafts_of(view.ticket, user) if isinstance(user, User) else {}
    for doing, name, label in ((Doing.COMMENT, "comment", "Comment"), (Doing.NOTE, "note", "Note for infra")):
        if doing not in view.may or not isinstance(user, User):
            continue
        internal = doing is Doing.NOTE
        kept = written.get(internal)
        found.append(
            Box(
                name=name,
                label=label,
                internal=internal,
                text=kept.text if kept else "",
                token=kept.token if kept else drafts.new_token(),
                key=f"{user.pk}:{view.ticket.ref}:{name}",
            )
        )
    return found


@register.simple_tag(takes_context=True)
def story_of(context: dict[str, Any], view: TicketView) -> Thread:
    """Both ends of the story; a page that asks again keeps the end that it has."""
    request = context["request"]
    start = request.POST.get("story") or request.GET.get("story") or ""
    return Story(view.ticket, view.reader, view.lines).ends(start)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What belongs to the comments of a list: files by comment, and which of them the reader may edit or hide."""

    files: dict[int, list[Attachment]]
    editable: frozenset[int]


@register.simple_tag(takes_context=True)
def beside(context: dict[str, Any], ticket: Ticket, *lists: list[Entry]) -> Beside:
    """Files and rights of all comments in one query."""
    user = context["request"].user
    said = [entry.said for entries in lists for entry in entries if entry.said is not None]
    files: defaultdict[int, list[Attachment]] = defaultdict(list)
    for file in Attachment.objects.visible_to(user).filter(comment__in=[each.pk for each in said]):
        files[file.comment_id or 0].append(file)
    editable = frozenset(each.pk for each in said if can_edit(each, user))
    return Beside(files=dict(files), editable=editable)


@register.filter
def of(mapping: dict[int, Any], key: int) -> Any:
    """`files|of:comment.pk`."""
    return mapping.get(key)


@register.simple_tag(takes_context=True)
def loose_files(context: dict[str, Any], ticket: Ticket) -> list[Attachment]:
    """Files that were put to the ticket itself."""
    return list(Attachment.objects.visible_to(context["request"].user).filter(ticket=ticket, comment=None))


@register.simple_tag(takes_context=True)
def watch_state(context: dict[str, Any], ticket: Ticket) -> dict[str, Any]:
    """Whether the reader follows, and how many do."""
    user = context["request"].user
    watches = watching.watches_of(ticket)
    mine = next((each for each in watches if each.user_id == user.pk), None)
    return {
        "follows": mine is not None and not mine.muted,
        "muted": mine is not None and mine.muted,
        "why": mine.get_why_display().lower() if mine else "",
        "others": sum(not each.muted and each is not mine for each in watches),
    }
