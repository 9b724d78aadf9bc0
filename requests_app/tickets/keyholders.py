"""Who in a team gets an account on its nodes?"""

from __future__ import annotations

from portal.accounts.models import Team, User
from provisioning.contracts import Account


def accounts_of(team: Team) -> tuple[Account, ...]:
    """Everybody in the team who has a public key."""
    people = User.objects.filter(memberships__team=team, is_active=True).order_by("username")
    found = [
        (person.username, person.ssh_public_keys.split("\n")) for person in people if person.ssh_public_keys
    ]
    return tuple(
        Account(name=name, keys=tuple(key.strip() for key in keys if key.strip())) for name, keys in found
    )
