"""What becomes of an API token that somebody pasted where others read? It ends at once, and the text loses its secret."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from django.db import transaction

from portal.accounts import events
from portal.accounts.models import ApiToken, User
from portal.accounts.tokens import PREFIX, TokenText, tokens_in
from portal.kernel.clock import now
from portal.ledger.services import record


def without_secrets(text: str, *, where: str, by: User | None) -> str:
    """`text` with every token in it ended and masked. `where` is the ref of what it was pasted into."""
    found = tokens_in(text)
    end_leaked(found, where=where, by=by)
    for token in found:
        text = text.replace(token.text, f"{PREFIX}{token.public_id}_…")
    return text


@transaction.atomic
def end_leaked(found: Iterable[TokenText], *, where: str, by: User | None) -> int:
    """Revoke those that are live, whoever owns them; how many that were. A look-alike revokes nothing."""
    ended = 0
    for text in found:
        token = ApiToken.objects.select_for_update().filter(public_id=text.public_id).first()
        if token is None or not hmac.compare_digest(token.secret_hash, text.secret_hash):
            continue
        if not token.is_live(now()):
            continue
        token.revoked_at = now()
        token.save(update_fields=["revoked_at"])
        payload = {"token": token.public_id, "name": token.name, "owner": token.user_id, "leaked_in": where}
        record(events.TOKEN_LEAKED, subject=f"person:{token.user_id}", payload=payload, by=by)
        ended += 1
    return ended
