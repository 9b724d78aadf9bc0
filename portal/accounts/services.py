"""What can be done with people, teams and tokens? Each change is one transaction with its event."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import timedelta
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from portal.accounts import events
from portal.accounts.access import Action, Scope, TeamRole, scopes_for
from portal.accounts.models import ApiToken, Membership, Team, User, slug_shape
from portal.accounts.names import plain_name
from portal.accounts.ssh_keys import KeyComplaint, parse_keys
from portal.accounts.tokens import make_token, read_token
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from portal.ledger.services import record

LONGEST_TOKEN_DAYS = 365
USUAL_TOKEN_DAYS = 90
MOST_LIVE_TOKENS = 50
_USE_IS_NOTED_EVERY = timedelta(minutes=1)
_NO_HASH = "0" * 64


# teams ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def create_team(*, slug: str, name: str, time_zone: str = "UTC", by: User | None) -> Team:
    """A new team without members; admins and the system only."""
    if by is not None and not by.can(Action.CONFIGURE):
        raise NotAllowed("Only admins create teams.")
    try:
        slug_shape(slug)
    except ValidationError as problem:
        raise Invalid({"slug": problem.messages}) from problem
    try:
        name = plain_name(name, longest=80)
    except ValueError as problem:
        raise Invalid({"name": [str(problem)]}) from problem
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name, time_zone=_zone(time_zone))
    except IntegrityError as problem:
        raise Conflict(f"There is a team {slug} already.") from problem
    record(events.TEAM_CREATED, subject=_team_subject(team), payload={"name": team.name}, by=by)
    return team


@transaction.atomic
def set_member(*, team: Team, username: str, role: str = TeamRole.MEMBER, by: User | None) -> Membership:
    """Put a person into `team` as member or lead, or change what they are in it; says the same twice without harm."""
    _lock_team(team, by)
    if role not in set(TeamRole):
        raise Invalid({"role": ["Use member or lead."]})
    person = _person_named(username)
    if person is None:
        raise Invalid({"username": [f"Nobody here has the user name {username.strip()[:60]!r}."]})
    membership = Membership.objects.filter(team=team, user=person).first()
    if membership is None:
        membership = Membership.objects.create(team=team, user=person, role=role)
        _record_member(events.MEMBER_ADDED, membership, by)
    elif membership.role != role:
        if membership.role == TeamRole.LEAD:
            _refuse_last_lead(team, person)
        membership.role = role
        membership.save(update_fields=["role"])
        _record_member(events.MEMBER_CHANGED, membership, by)
    return membership


@transaction.atomic
def remove_member(*, team: Team, username: str, by: User | None) -> None:
    """Take a person out of `team`. Everybody may leave; the last lead stays until somebody else leads."""
    leaving = by is not None and by.username == username
    _lock_team(team, None if leaving else by)
    named = Membership.objects.select_related("user").filter(team=team)
    membership = named.filter(user__username=username).first() if "\0" not in username else None
    if membership is None:
        raise NotFound(f"{username[:60]!r} is not in {team.name}.")
    if membership.role == TeamRole.LEAD:
        _refuse_last_lead(team, membership.user)
    _record_member(events.MEMBER_REMOVED, membership, by)
    membership.delete()


def may_manage(user: User, team: Team) -> bool:
    """True for who may change the members of `team`."""
    return user.is_active and (user.can(Action.CONFIGURE) or user.leads(team))


def _person_named(username: str) -> User | None:
    if "\0" in username:  # PostgreSQL has no such letter
        return None
    return User.objects.filter(username=username.strip(), is_active=True).first()


def _lock_team(team: Team, by: User | None) -> None:
    """Changes of one team's members go one after the other, so that two can't each remove the other's last lead."""
    Team.objects.select_for_update().get(pk=team.pk)
    if by is not None and not may_manage(by, team):
        raise NotAllowed(f"Only leads of {team.name} change its members.")


def _refuse_last_lead(team: Team, person: User) -> None:
    if not Membership.objects.filter(team=team, role=TeamRole.LEAD).exclude(user=person).exists():
        raise Refused(
            f"{person.username} is the only lead of {team.name}.",
            code="last-lead",
            data={"nearest_yes": "Make somebody else a lead first."},
        )


def _record_member(name: str, membership: Membership, by: User | None) -> None:
    payload = {"person": membership.user.username, "role": str(membership.role)}
    record(name, subject=_team_subject(membership.team), payload=payload, by=by)


def _team_subject(team: Team) -> str:
    return f"team:{team.slug}"


# the person themselves -----------------------------------------------------------------------------------------


@transaction.atomic
def save_profile(*, full_name: str, time_zone: str, ssh_public_keys: str, by: User) -> User:
    """Keep what a person says of themselves; field errors are told together."""
    complaints: dict[str, list[str]] = {}
    try:
        keys = "\n".join(key.line for key in parse_keys(ssh_public_keys))
    except KeyComplaint as problem:
        complaints["ssh_public_keys"], keys = problem.complaints, ""
    try:
        zone = _zone(time_zone) if time_zone else ""
    except Invalid as problem:
        complaints.update(problem.fields)
        zone = ""
    try:
        first, _, last = plain_name(full_name, longest=120, least=0).partition(" ")
    except ValueError as problem:
        complaints["full_name"], first, last = [str(problem)], "", ""
    if complaints:
        raise Invalid(complaints)
    person = User.objects.select_for_update().get(pk=by.pk)
    wanted = {"first_name": first, "last_name": last, "time_zone": zone, "ssh_public_keys": keys}
    changed = sorted(name for name, value in wanted.items() if getattr(person, name) != value)
    for name in changed:
        setattr(person, name, wanted[name])
    if changed:
        person.save(update_fields=changed)
        record(events.PROFILE_CHANGED, subject=person_subject(person), payload={"fields": changed}, by=by)
    return person


@transaction.atomic
def set_single_keys(*, on: bool, by: User) -> User:
    """Let one key be a verb, or not."""
    if User.objects.filter(pk=by.pk).exclude(single_keys=on).update(single_keys=on):
        record(events.PROFILE_CHANGED, subject=person_subject(by), payload={"fields": ["single_keys"]}, by=by)
    by.single_keys = on
    return by


@transaction.atomic
def change_password(*, password: str, by: User) -> None:
    """Set a new password; the form has checked the old one. Every other session of the person ends with it."""
    by.set_password(password)
    by.save(update_fields=["password"])
    record(events.PASSWORD_CHANGED, subject=person_subject(by), by=by)


def person_subject(person: User) -> str:
    """How the ledger names a person."""
    return f"person:{person.pk}"


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise Invalid({"time_zone": [f"{name[:40]!r} is not a time zone; they look like Europe/Zurich."]})
    return name


# tokens --------------------------------------------------------------------------------------------------------


@transaction.atomic
def issue_token(
    *, name: str, scopes: Iterable[str], days: int = USUAL_TOKEN_DAYS, by: User
) -> tuple[ApiToken, str]:
    """A token of `by` with `scopes`, dead after `days`. The text returned is never seen again."""
    User.objects.select_for_update(of=("self",)).get(pk=by.pk)
    asked = set(scopes)
    complaints = _token_complaints(name.strip(), asked, days, by)
    if complaints:
        raise Invalid(complaints)
    made = make_token()
    token = ApiToken.objects.create(
        user=by,
        name=plain_name(name, longest=80),
        public_id=made.public_id,
        secret_hash=made.secret_hash,
        scopes=[scope.value for scope in Scope if scope.value in asked],
        expires_at=now() + timedelta(days=days),
    )
    payload = {"token": token.public_id, "name": token.name, "scopes": token.scopes, "days": days}
    record(events.TOKEN_ISSUED, subject=person_subject(by), payload=payload, by=by)
    return token, made.text


def _token_complaints(name: str, scopes: set[str], days: int, by: User) -> dict[str, list[str]]:
    complaints: dict[str, list[str]] = {}
    live = ApiToken.objects.filter(user=by, revoked_at=None, expires_at__gt=now())
    try:
        name = plain_name(name, longest=80)
    except ValueError as problem:
        complaints["name"] = [f"Give it a name that says where it is used. {problem}"]
        return complaints
    if live.filter(name=name).exists():
        complaints["name"] = ["You have a live token of this name. Revoke it first, or use another name."]
    elif live.count() >= MOST_LIVE_TOKENS:
        complaints["name"] = [f"You have {MOST_LIVE_TOKENS} live tokens. Revoke some first."]
    too_much = sorted(scopes - {scope.value for scope in scopes_for(by.staff_role)})
    if not scopes:
        complaints["scopes"] = ["Choose at least one scope."]
    elif too_much:
        complaints["scopes"] = [
            f"You can't give {', '.join(too_much)[:200]}: a token never may more than you."
        ]
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        complaints["days"] = [f"A token lives 1 to {LONGEST_TOKEN_DAYS} days."]
    return complaints


@transaction.atomic
def revoke_token(*, public_id: str, by: User) -> None:
    """End a token at once. One's own; admins may end anybody's. Twice does no harm."""
    tokens = ApiToken.objects.select_for_update().filter(public_id=public_id)
    if not by.can(Action.CONFIGURE):
        tokens = tokens.filter(user=by)
    token = tokens.first()
    if token is None:
        raise NotFound("You have no such token.")
    if token.revoked_at is None:
        token.revoked_at = now()
        token.save(update_fields=["revoked_at"])
        payload = {"token": token.public_id, "name": token.name}
        record(events.TOKEN_REVOKED, subject=f"person:{token.user_id}", payload=payload, by=by)


def token_user(raw: str) -> tuple[User, ApiToken] | None:
    """Who signs with `raw`; None for one that is unknown, expired, revoked, or whose person is gone.

    The hash is compared in constant time, also when there is no such token. The token that comes back has only the
    scopes its person may still give: who loses a role loses it in every token at once.
    """
    parts = read_token(raw)
    if parts is None:
        return None
    token = ApiToken.objects.select_related("user").filter(public_id=parts.public_id).first()
    same = hmac.compare_digest(token.secret_hash if token else _NO_HASH, parts.secret_hash)
    at = now()
    if token is None or not same or not token.is_live(at) or not token.user.is_active:
        return None
    allowed = {scope.value for scope in scopes_for(token.user.staff_role)}
    stale = Q(last_used_at=None) | Q(last_used_at__lt=at - _USE_IS_NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < at - _USE_IS_NOTED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=at)
    token.scopes = [scope for scope in token.scopes if scope in allowed]
    return token.user, token
