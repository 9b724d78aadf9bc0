"""What do pages and the API need to know of a ticket? Who the reader is to it, its story, and its order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from portal.accounts.access import TeamRole
from portal.accounts.models import Membership, User
from portal.kernel.errors import Invalid
from provisioning import interface
from provisioning.contracts import OrderView
from requests_app.blocks.models import BlockInterval
from requests_app.catalogue.answers import in_words
from requests_app.catalogue.questions import questions_of
from requests_app.conversation.thread import Entry, story_entries
from requests_app.tickets.access import Doing, Standing, possible
from requests_app.tickets.models import Line, Ticket, TicketQuerySet
from requests_app.tickets.states import FINAL, MACHINE, OPEN, QUEUED, WITH_TEAM, TicketState
from requests_app.tickets.story import MANY, Facts, Story, tell

_SLUG = re.compile(r"[a-z0-9-]{1,40}")


def standing_of(ticket: Ticket, user: User | AnonymousUser) -> Standing:
    """What `user` is to `ticket` right now; who left the team is nothing to it any more."""
    if not isinstance(user, User) or not user.is_active:
        return Standing()
    role = Membership.objects.filter(user=user, team_id=ticket.team_id).values_list("role", flat=True).first()
    return Standing(
        requester=ticket.requester_id == user.pk,
        member=role is not None,
        lead=role == TeamRole.LEAD,
        triager=user.is_triager,
        infra=user.is_infra,
    )


@dataclass(frozen=True, kw_only=True)
class TicketView:
    """All that a page or an API answer shows of one ticket, for one reader."""

    ticket: Ticket
    standing: Standing
    may: tuple[Doing, ...]
    lines: tuple[Line, ...]
    orders: tuple[OrderView, ...]
    story: Story
    answers: tuple[tuple[str, str], ...]
    block: BlockInterval | None
    reader: User

    @property
    def entries(self) -> list[Entry]:
        """The newest of its story, oldest first; the page reads the story by itself."""
        return story_entries(self.ticket, self.reader, self.lines)

    @property
    def can_confirm_relief(self) -> bool:
        """True when the reader may say that the team can work again."""
        return Doing.CONFIRM_RELIEF in self.may

    @property
    def is_moving(self) -> bool:
        """True while the page may change by itself."""
        moving = self.ticket.status in OPEN and self.ticket.status != TicketState.READY
        return moving or self.ticket.is_blocking  # hours are lost as one watches, closed or not


def ticket_view(ticket: Ticket, user: User) -> TicketView:
    """Everything about a ticket that `user` may see; whoever calls got it from `visible_to(user)`."""
    standing = standing_of(ticket, user)
    lines = tuple(ticket.lines.all())
    orders = tuple(interface.order_views(line.order_ref for line in lines).values())
    return TicketView(
        ticket=ticket,
        standing=standing,
        may=_may(ticket, standing, lines),
        lines=lines,
        orders=orders,
        story=tell(_facts(ticket, orders)),
        reader=user,
        answers=answers_in_words(ticket),
        block=max(ticket.blocks.all(), key=lambda block: block.pk, default=None),
    )


def _may(ticket: Ticket, standing: Standing, lines: Sequence[Line]) -> tuple[Doing, ...]:
    """What the state allows, without what these lines leave nothing to do of."""
    idle = idle_doings(lines)
    if not ticket.is_blocking:
        idle |= {Doing.CONFIRM_RELIEF}
    return tuple(each for each in possible(standing=standing, state=ticket.status) if each not in idle)


def idle_doings(lines: Sequence[Line]) -> frozenset[Doing]:
    """What makes no sense with these lines: no offer is open, nothing waits for hands, nothing is promised."""
    idle: set[Doing] = set()
    if not any(line.in_offer for line in lines):
        idle |= {Doing.ACCEPT, Doing.COUNTER, Doing.ASK_ABOUT_OFFER}
    if not any(line.by_hand_qty for line in lines):
        idle |= {Doing.DELIVER}
    if not any(line.promised_qty for line in lines):
        idle |= {Doing.KEEP_PROMISE, Doing.MOVE_PROMISE}
    return frozenset(idle)


def _facts(ticket: Ticket, orders: Sequence[OrderView]) -> Facts:
    desk = ticket.assignee
    return Facts(
        state=ticket.status,
        since=ticket.state_since,
        desk="" if desk is None else (desk.get_full_name() or desk.get_username()),
        lead_time=ticket.offering_version.lead_time,
        question=ticket.question,
        reason=ticket.reason,
        nearest_yes=ticket.nearest_yes,
        note=ticket.note,
        order=orders[-1].ref if orders else "",
        order_now=orders[-1].now if orders else "",
        ahead=_ahead(ticket),
    )


def _ahead(ticket: Ticket) -> int | None:
    """How many the desk decides before this one, counted a little beyond MANY; None when it isn't in the queue or not ranked."""
    if ticket.rank_key is None or ticket.status not in QUEUED:
        return None
    some = Ticket.objects.filter(status__in=QUEUED, rank_key__isnull=False).before(ticket)
    return some.order_by("rank_key", "pk").values("pk")[: MANY + 1].count()


def answers_in_words(ticket: Ticket) -> tuple[tuple[str, str], ...]:
    """What was answered, as question and words, in the order of the pinned form."""
    questions = questions_of(ticket.offering_version.content)
    given = ticket.answers
    return tuple((each.label, in_words(each, given[each.name])) for each in questions if each.name in given)


FILTERS = frozenset({"state", "team", "mine", "offering"})


def find_tickets(
    user: User, *, state: str = "", team: str = "", mine: bool = False, offering: str = ""
) -> TicketQuerySet:
    """Tickets `user` may see, narrowed; Invalid for a state that there is not. `open`, `ours` and `done` are groups of states."""
    found = Ticket.objects.visible_to(user).for_pages()
    if state:
        found = found.filter(status__in=_states(state))
    if mine:
        found = found.filter(requester=user)
    for column, slug in (("team__slug", team), ("offering_version__offering__slug", offering)):
        if slug:
            found = found.filter(**{column: slug}) if _SLUG.fullmatch(slug) else found.none()
    return found


def _states(state: str) -> tuple[str, ...]:
    groups = {"open": OPEN, "ours": WITH_TEAM, "done": FINAL}
    if state in groups:
        return tuple(groups[state])
    if state in {str(each) for each in MACHINE.states}:
        return (state,)
    known = ", ".join([*groups, *MACHINE.states])
    raise Invalid({"state": [f"There is no such state. Known: {known}."]})
