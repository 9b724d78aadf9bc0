"""Who plays in the demonstration? People, a team with a quota, and their keys; made once, kept in the var folder."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import transaction

from portal.accounts import services as accounts
from portal.accounts.access import Scope, StaffRole, TeamRole
from portal.accounts.models import Membership, Team, User
from requests_app.quotas import services as quotas

TEAM = "vision"
SKU = "h100-sxm5-80g"
QUOTA_GPUS = 64


@dataclass(frozen=True)
class Part:
    """One part: sign-in name, what the person is, and what the token of the part may do."""

    name: str
    says: str
    staff_role: str
    team_role: str
    scopes: tuple[Scope, ...]


PARTS = (
    Part(
        "requester",
        "asks for clusters",
        StaffRole.NONE,
        TeamRole.MEMBER,
        (Scope.REQUESTS_READ, Scope.REQUESTS_WRITE, Scope.QUOTA_READ, Scope.FLEET_READ),
    ),
    Part(
        "lead", "leads the team", StaffRole.NONE, TeamRole.LEAD, (Scope.REQUESTS_READ, Scope.REQUESTS_WRITE)
    ),
    Part("triager", "decides requests", StaffRole.TRIAGER, "", (Scope.REQUESTS_READ, Scope.TRIAGE_WRITE)),
    Part("operator", "runs the fleet", StaffRole.OPERATOR, "", (Scope.FLEET_READ, Scope.PROVISION_EXECUTE)),
    Part("admin", "configures the portal", StaffRole.ADMIN, "", (Scope.ADMIN,)),
)


@dataclass(frozen=True)
class Login:
    """What a person needs to come in: by page with the password, by API with the token."""

    name: str
    says: str
    password: str
    token: str


def prepare(folder: Path) -> dict[str, Login]:
    """The logins of the demonstration; made the first time, read from `folder` afterwards."""
    kept = folder / "logins.json"
    if kept.is_file():
        found = {row["name"]: Login(**row) for row in json.loads(kept.read_text(encoding="utf-8"))}
        if all(accounts.token_user(login.token) for login in found.values()):
            return found
    logins = _make()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept.touch(mode=0o600)
    kept.write_text(json.dumps([asdict(login) for login in logins.values()], indent=1), encoding="utf-8")
    return logins


@transaction.atomic
def _make() -> dict[str, Login]:
    team = Team.objects.filter(slug=TEAM).first() or Team.objects.create(slug=TEAM, name="Vision")
    logins = {part.name: _login(part, team) for part in PARTS}
    quotas.set_limit(team=team, sku=SKU, limit=QUOTA_GPUS, reason="demonstration", by=None)
    return logins


def _login(part: Part, team: Team) -> Login:
    password = "-".join(secrets.token_hex(2) for _ in range(3))
    user = User.objects.filter(username=part.name).first() or User(username=part.name)
    user.staff_role = part.staff_role
    user.is_staff, user.is_superuser = bool(part.staff_role), part.staff_role == StaffRole.ADMIN
    user.ssh_public_keys = user.ssh_public_keys or _public_key(part.name)
    user.set_password(password)
    user.save()
    if part.team_role:
        Membership.objects.update_or_create(user=user, team=team, defaults={"role": part.team_role})
    name = f"demonstration {secrets.token_hex(3)}"
    _, token = accounts.issue_token(name=name, scopes=[str(scope) for scope in part.scopes], days=30, by=user)
    return Login(name=part.name, says=part.says, password=password, token=token)


def _public_key(name: str) -> str:
    """A real key; its private half is thrown away, since nobody signs in to a simulated node."""
    public = Ed25519PrivateKey.generate().public_key()
    return f"{public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()} {name}"
