"""Which events do people hear of, who, and how unless they chose otherwise? The one table; pure.

An event that is not here is heard of by nobody. To add one, add a row: its sentence is the one of the timeline
(`requests_app/tickets/sentences.py`), and `portal/wiring.py` wires whatever stands here and is recorded somewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Channel(StrEnum):
    """Where a message goes."""

    INBOX = "inbox"
    MAIL = "mail"
    CHAT = "chat"


class When(StrEnum):
    """How soon."""

    NOW = "now"
    DIGEST = "digest"
    OFF = "off"


class Topic(StrEnum):
    """What a person chooses about: kinds that belong together."""

    NAMED = "named"
    QUESTIONS = "questions"
    DECISIONS = "decisions"
    PROMISES = "promises"
    TALK = "talk"
    PROGRESS = "progress"
    BLOCKS = "blocks"
    WORKAROUNDS = "workarounds"
    DESK = "desk"
    LEASES = "leases"
    FLEET = "fleet"
    ACCOUNT = "account"


class Audience(StrEnum):
    """Who hears of it. Nobody hears of what they did themselves."""

    WATCHERS = "watchers"
    NAMED = "named"
    ASSIGNEE = "assignee"
    DESK = "desk"
    TEAM = "team"
    OWNER = "owner"
    ADMINS = "admins"
    OPERATORS = "operators"
    TOLD = "told"


SAYS: Mapping[Topic, str] = {
    Topic.NAMED: "Somebody names you, or gives you a request",
    Topic.QUESTIONS: "The desk asks your team something",
    Topic.DECISIONS: "A request is approved or declined, or something is offered",
    Topic.PROMISES: "A promise is made, moved or kept",
    Topic.TALK: "Somebody comments on a request you follow",
    Topic.PROGRESS: "A request you follow is delivered, returned or closed",
    Topic.BLOCKS: "A team is blocked, or can work again",
    Topic.WORKAROUNDS: "A workaround begins, expires or ends",
    Topic.DESK: "Something waits at the desk",
    Topic.LEASES: "A cluster or a loan of your team ends soon",
    Topic.FLEET: "A job on the fleet waits for an operator",
    Topic.ACCOUNT: "Your account, your tokens, the portal's mail",
}

MAIL_DEFAULTS: Mapping[Topic, When] = {
    Topic.NAMED: When.NOW,
    Topic.QUESTIONS: When.NOW,
    Topic.DECISIONS: When.NOW,
    Topic.PROMISES: When.NOW,
    Topic.TALK: When.NOW,
    Topic.PROGRESS: When.NOW,
    Topic.BLOCKS: When.DIGEST,
    Topic.WORKAROUNDS: When.DIGEST,
    Topic.DESK: When.DIGEST,
    Topic.LEASES: When.NOW,
    Topic.FLEET: When.NOW,
    Topic.ACCOUNT: When.NOW,
}

ALWAYS = frozenset({Topic.ACCOUNT})
"""What can't be switched off: a leaked token is its owner's to know."""


def default(topic: Topic, channel: Channel) -> When:
    """How soon, for who has not chosen."""
    return MAIL_DEFAULTS[topic] if channel is Channel.MAIL else When.NOW


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A row. `while_in` are the ticket's states in which it still holds: in another one it is not mailed any more."""

    topic: Topic
    to: tuple[Audience, ...] = (Audience.WATCHERS,)
    while_in: frozenset[str] = field(default_factory=frozenset)
    to_chat: bool = False


def _states(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GRANTED = _states("approved provisioning promised ready closed")
_W, _D, _N, _O = Audience.WATCHERS, Audience.DESK, Audience.NAMED, Audience.OWNER

KINDS: Mapping[str, Kind] = {
    "ticket.submitted": Kind(topic=Topic.DESK, to=(_D,), to_chat=True),
    "ticket.commented": Kind(topic=Topic.TALK, to=(_N, _W)),
    "ticket.comment_edited": Kind(topic=Topic.NAMED, to=(_N,)),
    "ticket.answered": Kind(topic=Topic.TALK, to=(Audience.ASSIGNEE, _W)),
    "ticket.asked_back": Kind(topic=Topic.QUESTIONS, while_in=_states("waiting"), to_chat=True),
    "ticket.approved": Kind(topic=Topic.DECISIONS, while_in=_GRANTED, to_chat=True),
    "ticket.declined": Kind(topic=Topic.DECISIONS, while_in=_states("declined"), to_chat=True),
    "ticket.undone": Kind(topic=Topic.DECISIONS, to=(Audience.TOLD,)),
    "ticket.assigned": Kind(topic=Topic.NAMED, to=(Audience.ASSIGNEE,)),
    "ticket.delivered": Kind(topic=Topic.PROGRESS, while_in=_states("ready closed"), to_chat=True),
    "ticket.returned": Kind(topic=Topic.PROGRESS, to=(_W, _D)),
    "ticket.reopened": Kind(topic=Topic.PROGRESS, to=(_W, _D)),
    "ticket.withdrawn": Kind(topic=Topic.PROGRESS, to_chat=True),
    "ticket.closed": Kind(topic=Topic.PROGRESS, to_chat=True),
    "ticket.merged": Kind(topic=Topic.PROGRESS, while_in=_states("merged")),
    "ticket.absorbed": Kind(topic=Topic.PROGRESS),
    "ticket.relieved": Kind(topic=Topic.BLOCKS, to_chat=True),
    "block.opened": Kind(topic=Topic.BLOCKS, to=(_W, _D), to_chat=True),
    "block.people_named": Kind(topic=Topic.NAMED, to=(_N,)),
    "commitment.sponsor_asked": Kind(topic=Topic.NAMED, to=(Audience.OWNER,)),
    "offer.proposed": Kind(topic=Topic.DECISIONS, while_in=_states("offered"), to_chat=True),
    "offer.accepted": Kind(topic=Topic.DECISIONS, to=(_W, Audience.ASSIGNEE)),
    "offer.countered": Kind(topic=Topic.DECISIONS, to=(_W, Audience.ASSIGNEE)),
    "offer.asked": Kind(topic=Topic.DESK, to=(Audience.ASSIGNEE, _D)),
    "offer.answered": Kind(topic=Topic.QUESTIONS),
    "offer.withdrawn": Kind(topic=Topic.DECISIONS),
    "offer.lapsed": Kind(topic=Topic.DECISIONS, to=(_W, Audience.ASSIGNEE)),
    "promise.made": Kind(topic=Topic.PROMISES),
    "promise.moved": Kind(topic=Topic.PROMISES, to_chat=True),
    "promise.kept": Kind(topic=Topic.PROMISES),
    "promise.failed": Kind(topic=Topic.PROMISES, to=(_W, _D)),
    "promise.cancelled": Kind(topic=Topic.PROMISES),
    "workaround.granted": Kind(topic=Topic.WORKAROUNDS),
    "workaround.started": Kind(topic=Topic.WORKAROUNDS, to_chat=True),
    "workaround.failed": Kind(topic=Topic.WORKAROUNDS, to=(_W, _D, _O)),
    "workaround.expiring": Kind(topic=Topic.WORKAROUNDS, to=(_W, Audience.ASSIGNEE, _O)),
    "workaround.reverting": Kind(topic=Topic.WORKAROUNDS, to=(_W, _O)),
    "workaround.renewal_asked": Kind(topic=Topic.DESK, to=(_D, _O)),
    "workaround.renewal_refused": Kind(topic=Topic.WORKAROUNDS, to=(_W, _O)),
    "workaround.renewed": Kind(topic=Topic.WORKAROUNDS),
    "workaround.ended": Kind(topic=Topic.WORKAROUNDS),
    "workaround.stuck": Kind(topic=Topic.WORKAROUNDS, to=(_W, _D, _O)),
    "replacement.retargeted": Kind(topic=Topic.PROMISES),
    "replacement.moved": Kind(topic=Topic.WORKAROUNDS),
    "clock.at_risk": Kind(topic=Topic.DESK, to=(Audience.ASSIGNEE, _D)),
    "clock.missed": Kind(topic=Topic.DESK, to=(Audience.ASSIGNEE, _D)),
    "queue.crunch_began": Kind(topic=Topic.DESK, to=(_D,), to_chat=True),
    "cluster.lease_ending": Kind(topic=Topic.LEASES, to=(Audience.TEAM,)),
    "quota.boost_ended": Kind(topic=Topic.LEASES, to=(Audience.TEAM,)),
    "job.paused": Kind(topic=Topic.FLEET, to=(Audience.OPERATORS,)),
    "token.leaked": Kind(topic=Topic.ACCOUNT, to=(Audience.OWNER,)),
    "notify.address_bounced": Kind(topic=Topic.ACCOUNT, to=(Audience.ADMINS,)),
    "notify.mail_quarantined": Kind(topic=Topic.ACCOUNT, to=(Audience.ADMINS,)),
    "notify.message_dead": Kind(topic=Topic.ACCOUNT, to=(Audience.ADMINS,)),
}

STAFF_ONLY = frozenset(
    {
        *("ticket.assigned", "clock.at_risk", "clock.missed", "queue.crunch_began"),
        *("workaround.renewal_asked", "job.paused"),
    }
)
"""What only infra staff may hear of, whoever follows."""

OWN_SENTENCES: Mapping[str, str] = {
    "token.leaked": "Your API token “{name}” stood in {leaked_in} for others to read; it is revoked",
    "cluster.lease_ending": "The lease of {subject} ends soon",
    "job.paused": "{subject} ({playbook}) is paused and waits for an operator",
    "quota.boost_ended": "A temporary quota of your team has ended",
    "commitment.sponsor_asked": "{team} asks you to vouch for what it owes on {due_on}: {what} (/owed/)",
    "queue.crunch_began": "More arrives at the desk than leaves it",
    "notify.address_bounced": "Mail to {address} comes back; nothing is mailed there any more",
    "notify.mail_quarantined": "A mail from {address} was put aside: {reason}",
    "notify.message_dead": "A message could not be sent and was given up: {error}",
}
"""Sentences of events that stand on no ticket's timeline. `{words}` are the payload's, and `subject`."""


def sentence(name: str, subject: str, payload: Mapping[str, object]) -> str:
    """The sentence of such an event, "" for one that has none."""
    words = {key: str(value)[:200] for key, value in payload.items()}
    text = OWN_SENTENCES.get(name, "")
    for key, value in {**words, "subject": subject}.items():
        text = text.replace("{" + key + "}", value)
    return text
