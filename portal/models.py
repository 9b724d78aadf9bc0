"""Django finds the portal's models here; nobody else imports this."""

from portal.accounts.models import ApiToken, Membership, SignInTry, Team, User
from portal.api.models import KeptAnswer
from portal.ledger.models import Delivery, Event
from portal.notify.models import Bouncing, ChatRoom, DigestHour, Notification, Preference, ReceivedMail

__all__ = [
    "ApiToken",
    "Bouncing",
    "ChatRoom",
    "Delivery",
    "DigestHour",
    "Event",
    "KeptAnswer",
    "Membership",
    "Notification",
    "Preference",
    "ReceivedMail",
    "SignInTry",
    "Team",
    "User",
]
