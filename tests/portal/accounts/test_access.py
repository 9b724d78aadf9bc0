"""What may which role give to a token?"""

from __future__ import annotations

import pytest

from portal.accounts.access import SAYS, Scope, StaffRole, scopes_for

CUSTOMER = {
    Scope.REQUESTS_READ,
    Scope.REQUESTS_WRITE,
    Scope.OFFERS_ACCEPT,
    Scope.QUOTA_READ,
    Scope.FLEET_READ,
}


@pytest.mark.parametrize(
    ("role", "more"),
    [
        ("", set()),
        ("triager", {Scope.TRIAGE_WRITE, Scope.QUOTA_GRANT}),
        ("operator", {Scope.PROVISION_EXECUTE, Scope.TELEMETRY_WRITE}),
        (
            "admin",
            {
                *(Scope.TRIAGE_WRITE, Scope.QUOTA_GRANT, Scope.PROVISION_EXECUTE),
                *(Scope.TELEMETRY_WRITE, Scope.ADMIN),
            },
        ),
        ("emperor", set()),
    ],
)
def test_role_gives_no_more_than_it_may(role: str, more: set[Scope]) -> None:
    assert set(scopes_for(role)) == CUSTOMER | more


def test_every_scope_is_said_in_words() -> None:
    assert set(SAYS) == set(Scope)


def test_every_role_is_known_to_the_matrix() -> None:
    assert all(scopes_for(role) for role in StaffRole)
