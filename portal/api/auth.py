"""Who is asking, and may the token do that? Bearer tokens for clients, sessions for the portal's own pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import authentication, exceptions, permissions
from rest_framework.request import Request

from portal.accounts.access import Scope
from portal.accounts.models import ApiToken, User
from portal.accounts.services import token_user

if TYPE_CHECKING:  # rest_framework.views reads this module while it is being imported
    from rest_framework.views import APIView

SAFE = ("GET", "HEAD", "OPTIONS")


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer qm_pat_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """The user and the token, None when no token is sent; 401 for one that doesn't count."""
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        kind, _, raw = header.partition(" ")
        if kind.lower() != "bearer":
            raise exceptions.AuthenticationFailed("Send the token as `Authorization: Bearer qm_pat_…`.")
        found = token_user(raw.strip())
        if found is None:
            raise exceptions.AuthenticationFailed("This token is unknown, expired or revoked.")
        return found

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="Quartermaster"'


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of somebody who signed in by browser, with the CSRF check."""


class SignedIn(permissions.BasePermission):
    """Somebody is signed in, and a token has the scope that the view names for the method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """False leads to 401 without credentials, 403 with a token of too little scope."""
        if not request.user.is_authenticated:
            return False
        token = request.auth
        if not isinstance(token, ApiToken):
            return True
        needed = needed_scope(view, request.method or "GET")
        if needed in token.scopes or Scope.ADMIN.value in token.scopes:
            return True
        raise exceptions.PermissionDenied(f"This token lacks the scope {needed}.")


def needed_scope(view: Any, method: str) -> str:
    """The scope a view asks of tokens for a method; a view that names none can't be used with a token."""
    scopes: dict[str, str] = getattr(view, "required_scopes", {})
    wanted = "GET" if method in SAFE else method
    return str(scopes.get(wanted, Scope.ADMIN.value))
