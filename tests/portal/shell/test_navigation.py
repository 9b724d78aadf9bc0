"""Does everybody see their own part of the house, and where they are in it?"""

from __future__ import annotations

from portal.accounts.models import User
from portal.shell.navigation import menu

ASK = {"Catalogue", "Clusters", "Quotas", "Inbox"}
MACHINE_ROOM = {"Workers", "Schedules", "Credentials"}

DECIDE = {"Desk", "Promises", "How fast we are", "How it went", "Priority policy"}


def titles(user: User) -> set[str]:
    """What the rail shows."""
    return {link.title for group in menu(user, "/") for link in group.links}


def test_member_sees_what_can_be_asked(member: User) -> None:
    assert titles(member) == {*ASK, "My requests", "Workarounds"}


def test_triager_sees_the_desk_too(triager: User) -> None:
    assert titles(triager) == {*ASK, "All requests", "Debt", *DECIDE}


def test_operator_sees_the_fleet_too(operator: User) -> None:
    assert titles(operator) == {*ASK, "All requests", "Debt", "Nodes", "Jobs", "Orders", *MACHINE_ROOM}


def test_admin_sees_all(admin_user: User) -> None:
    assert titles(admin_user) == {
        *ASK,
        "All requests",
        *DECIDE,
        "Debt",
        "Nodes",
        "Jobs",
        "Orders",
        *MACHINE_ROOM,
        "Mail room",
    }


def test_rail_marks_the_page_and_what_is_below_it(member: User) -> None:
    def current(path: str) -> dict[str, str]:
        return {
            link.title: link.current for group in menu(member, path) for link in group.links if link.current
        }

    assert current("/catalogue/") == {"Catalogue": "page"}
    assert current("/catalogue/gpu-cluster/") == {"Catalogue": "true"}
    assert current("/") == {}


def test_rail_marks_the_nearest_line_only(triager: User) -> None:
    marked = [
        (link.title, link.current)
        for group in menu(triager, "/desk/policy/")
        for link in group.links
        if link.current
    ]
    assert marked == [("Priority policy", "page")]
