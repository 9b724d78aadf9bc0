"""What does this room record in the ledger? Subjects are `team:SLUG` and `person:ID`; no secret is ever in a payload."""

from __future__ import annotations

TEAM_CREATED = "team.created"
MEMBER_ADDED = "member.added"
MEMBER_REMOVED = "member.removed"
MEMBER_CHANGED = "member.changed"
TOKEN_ISSUED = "token.issued"  # noqa: S105 - the name of an event
TOKEN_REVOKED = "token.revoked"  # noqa: S105 - the name of an event
TOKEN_LEAKED = "token.leaked"  # noqa: S105 - the name of an event
PROFILE_CHANGED = "profile.changed"
PASSWORD_CHANGED = "password.changed"  # noqa: S105 - the name of an event
SIGNED_IN = "session.started"
SIGNED_OUT = "session.ended"
