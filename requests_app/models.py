"""Django finds the models of this house here; nobody else imports this."""

from requests_app.attachments.models import Attachment
from requests_app.blocks.models import (
    BlockAmendment,
    BlockInterval,
    BlockPerson,
    ClaimRecord,
    Commitment,
    IdleReading,
)
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.clocks.models import Calendar, ClockGoal, ClockMark, ClockSummary, TeamCalendar
from requests_app.conversation.models import CommentDraft, CommentRevision, Watch
from requests_app.negotiation.models import Offer, OfferLine, Promise
from requests_app.outcome.models import Outcome
from requests_app.priority.models import CrunchWarning, Expedite, FairShare, Pin, PriorityPolicy, Rerank
from requests_app.quotas.models import Boost, Hold, LedgerEntry, Quota
from requests_app.relations.models import Relation
from requests_app.search.models import SearchDocument, SearchWord
from requests_app.tickets.models import Comment, Draft, Line, LineDecision, Ticket
from requests_app.triage.models import (
    BulkRow,
    BulkRun,
    DutyShift,
    Presence,
    ReplyTemplate,
    SavedView,
    Snooze,
    Undo,
)
from requests_app.workarounds.models import InterestEntry, PillarCap, Renewal, Workaround
from requests_app.workarounds.projects import Milestone, Replacement

__all__ = [
    "Attachment",
    "BlockAmendment",
    "BlockInterval",
    "BlockPerson",
    "Boost",
    "BulkRow",
    "BulkRun",
    "ClaimRecord",
    "Calendar",
    "ClockGoal",
    "ClockMark",
    "ClockSummary",
    "Comment",
    "CommentDraft",
    "CommentRevision",
    "Commitment",
    "CrunchWarning",
    "Draft",
    "DutyShift",
    "Expedite",
    "FairShare",
    "Hold",
    "IdleReading",
    "InterestEntry",
    "LedgerEntry",
    "Line",
    "Milestone",
    "LineDecision",
    "Offer",
    "OfferLine",
    "Offering",
    "OfferingVersion",
    "PillarCap",
    "Pin",
    "Presence",
    "PriorityPolicy",
    "Promise",
    "Quota",
    "Relation",
    "Renewal",
    "Replacement",
    "ReplyTemplate",
    "Rerank",
    "SavedView",
    "SearchDocument",
    "SearchWord",
    "Snooze",
    "Outcome",
    "TeamCalendar",
    "Ticket",
    "Undo",
    "Watch",
    "Workaround",
]
