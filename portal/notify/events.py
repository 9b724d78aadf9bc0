"""What does this room record in the ledger? Subjects are `person:ID` and `mail`."""

from __future__ import annotations

PREFERENCES_CHANGED = "notify.preferences_changed"
ADDRESS_BOUNCED = "notify.address_bounced"
ADDRESS_TRIED_AGAIN = "notify.address_tried_again"
MAIL_QUARANTINED = "notify.mail_quarantined"
MESSAGE_DEAD = "notify.message_dead"
MESSAGE_RETRIED = "notify.message_retried"
CHAT_SET = "notify.chat_set"
