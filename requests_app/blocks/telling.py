"""What does a page show of a ticket's blocks? The open one with what it has cost, who speaks for it, and the ones before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.blocks.arithmetic import Level
from requests_app.blocks.models import BlockInterval, BlockPerson, Commitment
from requests_app.blocks.queries import claim_ratio, lost_gpu_hours, lost_people_hours, readings_of
from requests_app.tickets.access import Standing
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.states import OPEN


@dataclass(frozen=True, kw_only=True)
class Told:
    """One interval as a page shows it; hours are GPU-hours and people-hours lost so far."""

    block: BlockInterval
    lasted: timedelta
    gpu_hours: float
    people_hours: float
    measured: Level | None

    @property
    def believed(self) -> str:
        """How much the rank believes of it, in plain words."""
        if self.measured is not None:
            return "Idle GPUs are measured, so they count in full."
        if self.block.confirmed_at is not None:
            return "The desk has looked and found it so; it counts 80 %."
        return "A claim counts half until the desk confirms it or a measurement comes."


@dataclass(frozen=True, kw_only=True)
class BlocksCard:
    """All about the blocks of one ticket, for one reader. `ratio` is what the team's claims count for by its record."""

    ticket: Ticket
    open: Told | None
    past: tuple[Told, ...]
    persons: tuple[BlockPerson, ...]
    me: BlockPerson | None
    commitments: tuple[Commitment, ...]
    ratio: float
    is_member: bool
    may_open: bool
    may_find: bool
    may_relieve: bool

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to show and nothing to do."""
        return not (self.open or self.past or self.commitments or self.may_open)

    @property
    def may_speak(self) -> bool:
        """True for a member whose own click is still to come."""
        said = self.me is not None and (self.me.confirmed_at is not None or self.me.refused_at is not None)
        return self.open is not None and self.is_member and not said


def card_of(ticket: Ticket, user: User, standing: Standing | None = None) -> BlocksCard:
    """Gather the card, in a constant number of queries; whoever calls got the ticket from `visible_to(user)`.

    `standing` is what the reader is to it, if that is known already.
    """
    at = now()
    blocks = _blocks(ticket)
    readings = readings_of([ticket.pk]).get(ticket.pk, ()) if blocks else ()
    told = [_told(block, readings, at) for block in blocks]
    open_one = next((each for each in told if each.block.ended_at is None), None)
    persons: tuple[BlockPerson, ...] = ()
    if open_one is not None:
        persons = tuple(open_one.block.persons.select_related("user"))
    standing = standing or standing_of(ticket, user)
    is_member = standing.member or standing.lead
    return BlocksCard(
        ticket=ticket,
        open=open_one,
        past=tuple(each for each in told if each is not open_one),
        persons=persons,
        me=next((person for person in persons if person.user_id == user.pk), None),
        commitments=tuple(ticket.commitments.filter(dropped_at=None).select_related("sponsor")),
        ratio=1.0 if open_one is None else claim_ratio(ticket.team),
        is_member=is_member,
        may_open=is_member and open_one is None and ticket.status in OPEN,
        may_find=standing.infra and open_one is not None and open_one.block.confirmed_at is None,
        may_relieve=standing.speaks_for_team and open_one is not None,
    )


def _blocks(ticket: Ticket) -> list[BlockInterval]:
    """With who spoke; most tickets have none, and then a page that has asked already needn't ask again."""
    if not ticket.blocks.all():
        return []
    rows = ticket.blocks.select_related("claimed_by", "confirmed_by", "ended_by")
    return list(rows.prefetch_related("amendments"))


def _told(block: BlockInterval, readings: tuple[Level, ...], at: datetime) -> Told:
    since = [level for level in readings if level.since >= block.started_at]
    return Told(
        block=block,
        lasted=(block.ended_at or at) - block.started_at,
        gpu_hours=lost_gpu_hours(block, at, readings),
        people_hours=lost_people_hours(block, at),
        measured=since[-1] if since and block.ended_at is None else None,
    )
