"""Which role may do what? One pure matrix; every view, service and token asks it."""

from __future__ import annotations

from enum import StrEnum


class StaffRole(StrEnum):
    """What an infra person does; the empty string is a customer."""

    NONE = ""
    TRIAGER = "triager"
    OPERATOR = "operator"
    ADMIN = "admin"


class TeamRole(StrEnum):
    """What a person is in a team."""

    MEMBER = "member"
    LEAD = "lead"


class Scope(StrEnum):
    """What an API token may do; the effective right is the scope AND what its user may do now."""

    REQUESTS_READ = "requests:read"
    REQUESTS_WRITE = "requests:write"
    OFFERS_ACCEPT = "offers:accept"
    TRIAGE_WRITE = "triage:write"
    QUOTA_READ = "quota:read"
    QUOTA_GRANT = "quota:grant"
    FLEET_READ = "fleet:read"
    PROVISION_EXECUTE = "provision:execute"
    TELEMETRY_WRITE = "telemetry:write"
    ADMIN = "admin:all"


class Action(StrEnum):
    """What only infra staff do, across teams."""

    SEE_ALL_TEAMS = "see all teams"
    DECIDE_TICKETS = "decide tickets"
    GRANT_QUOTA = "grant quota"
    OPERATE_FLEET = "operate the fleet"
    RUN_JOBS = "run jobs"
    CONFIGURE = "configure the portal"


_MATRIX: dict[StaffRole, frozenset[Action]] = {
    StaffRole.NONE: frozenset(),
    StaffRole.TRIAGER: frozenset({Action.SEE_ALL_TEAMS, Action.DECIDE_TICKETS, Action.GRANT_QUOTA}),
    StaffRole.OPERATOR: frozenset({Action.SEE_ALL_TEAMS, Action.OPERATE_FLEET, Action.RUN_JOBS}),
    StaffRole.ADMIN: frozenset(Action),
}


def may(role: str, action: Action) -> bool:
    """True when a person with staff role `role` may do `action`; unknown roles may do nothing."""
    try:
        return action in _MATRIX[StaffRole(role)]
    except ValueError:
        return False


_NEEDS: dict[Scope, Action] = {
    Scope.TRIAGE_WRITE: Action.DECIDE_TICKETS,
    Scope.QUOTA_GRANT: Action.GRANT_QUOTA,
    Scope.PROVISION_EXECUTE: Action.RUN_JOBS,
    Scope.TELEMETRY_WRITE: Action.OPERATE_FLEET,
    Scope.ADMIN: Action.CONFIGURE,
}


def scopes_for(role: str) -> tuple[Scope, ...]:
    """What a person with staff role `role` may give to a token: never more than they may do themselves."""
    return tuple(scope for scope in Scope if scope not in _NEEDS or may(role, _NEEDS[scope]))


SAYS: dict[Scope, str] = {
    Scope.REQUESTS_READ: "See your teams, their requests and the catalogue",
    Scope.REQUESTS_WRITE: "File, answer and withdraw requests; manage members of teams you lead",
    Scope.OFFERS_ACCEPT: "Answer what infra offers: accept, counter, ask",
    Scope.TRIAGE_WRITE: "Decide requests at the desk",
    Scope.QUOTA_READ: "See quotas",
    Scope.QUOTA_GRANT: "Change quotas",
    Scope.FLEET_READ: "See clusters, nodes, jobs and reports",
    Scope.PROVISION_EXECUTE: "Start and stop jobs and orders",
    Scope.TELEMETRY_WRITE: "Report what machines measure: idle GPUs of a blocked team",
    Scope.ADMIN: "Everything you may do",
}
