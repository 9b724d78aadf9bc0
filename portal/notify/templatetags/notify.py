"""What does the frame of every page say of the inbox? How much is unread."""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.models import User
from portal.notify.queries import MANY, unread_count

register = template.Library()


@register.simple_tag(takes_context=True)
def unread(context: dict[str, Any]) -> str:
    """`3`, `99+`, or nothing."""
    request = context.get("request")
    user = getattr(request, "user", None)
    count = unread_count(user) if isinstance(user, User) else 0
    if not count:
        return ""
    return f"{MANY - 1}+" if count >= MANY else str(count)
