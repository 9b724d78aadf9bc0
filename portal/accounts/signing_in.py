"""May this try to sign in go on? Counts tries by account and address, and by address, before the password is looked at."""

from __future__ import annotations

import ipaddress
import math
from datetime import timedelta

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from portal.accounts import events
from portal.accounts.models import SignInTry, User
from portal.accounts.services import person_subject
from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from portal.ledger.services import record

WINDOW = timedelta(minutes=15)
PER_ACCOUNT_AND_ADDRESS = 5
PER_ADDRESS = 50
KEPT_FOR = timedelta(days=1)


class TooManyTries(PortalError):
    """Too many wrong passwords; `data["seconds"]` is how long to wait."""

    status = 429
    code = "too-many-tries"
    title = "Too many tries"


def sign_in(request: HttpRequest, *, username: str, password: str) -> User | None:
    """Start a session with a new key; None when name and password don't fit, TooManyTries when it must wait.

    The try is written before the password is checked, so that many at once can't all pass the count: they are then
    refused together.
    """
    account, address = _account_key(username), address_of(request)
    this = SignInTry.objects.create(account=account, address=address)
    _refuse_too_many(this)
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User):
        return None
    login(request, user)
    SignInTry.objects.filter(account=account, address=address).delete()
    SignInTry.objects.filter(at__lt=now() - KEPT_FOR).delete()
    record(events.SIGNED_IN, subject=person_subject(user), by=user)
    return user


def sign_out(request: HttpRequest) -> None:
    """End the session, here and in the database."""
    if isinstance(request.user, User):
        record(events.SIGNED_OUT, subject=person_subject(request.user), by=request.user)
    logout(request)


def _refuse_too_many(this: SignInTry) -> None:
    """A refused try doesn't count: who waits as long as told gets in, however often they asked meanwhile."""
    recent = SignInTry.objects.filter(address=this.address, at__gt=this.at - WINDOW).exclude(pk=this.pk)
    mine = recent.filter(account=this.account)
    for tries, most in ((mine, PER_ACCOUNT_AND_ADDRESS), (recent, PER_ADDRESS)):
        times = list(tries.order_by("-at").values_list("at", flat=True)[:most])
        if len(times) == most:
            this.delete()
            minutes = max(1, math.ceil((times[-1] + WINDOW - now()).total_seconds() / 60))
            raise TooManyTries(
                f"That was too often. Wait {minutes} min, then try again.", data={"seconds": minutes * 60}
            )


def _account_key(username: str) -> str:
    return salted_hmac("sign-in", username.strip().lower(), algorithm="sha256").hexdigest()


def address_of(request: HttpRequest) -> str:
    """Where the request comes from; an IPv6 site counts as one, because it has 2^64 addresses to try from."""
    text = str(request.META.get("REMOTE_ADDR") or "")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return str(address)
