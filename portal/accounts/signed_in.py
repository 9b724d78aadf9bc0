"""Who makes this request? The narrow door from Django's request to our User."""

from __future__ import annotations

from typing import Protocol

from django.contrib.auth.models import AnonymousUser

from portal.accounts.models import User
from portal.kernel.errors import NotFound


class HasUser(Protocol):
    """What Django's and DRF's requests have in common."""

    @property
    def user(self) -> User | AnonymousUser: ...


def signed_in(request: HasUser) -> User:
    """The person who is signed in. Only views behind `login_required` or a permission ask."""
    assert isinstance(request.user, User), "this view lets people in who are not signed in"
    return request.user


def signed_in_infra(request: HasUser) -> User:
    """Who makes the request, when that is infra staff; for everybody else there is nothing here."""
    person = signed_in(request)
    if not person.is_infra:
        raise NotFound("There is nothing here that you may see.")
    return person
