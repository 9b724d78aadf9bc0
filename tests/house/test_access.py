"""Every route, walked as everybody: a stranger learns nothing, nobody breaks anything, and no list grows queries by the row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import time, timedelta

import pytest
import pytest_django
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from portal.accounts.models import ApiToken, Team, User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from portal.notify.models import Notification
from provisioning.fleet.models import Cluster, Hold, Reservation
from provisioning.jobs.models import Job
from provisioning.orders.models import Order
from requests_app.blocks.commitments import Owed, commit
from requests_app.clocks.models import Calendar
from requests_app.conversation.services import comment
from requests_app.negotiation.models import Promise
from requests_app.negotiation.states import PROMISE
from requests_app.relations.services import relate
from requests_app.tickets.models import Line, Ticket
from requests_app.triage import bulk
from requests_app.triage.duty import set_shift
from requests_app.triage.replies import save_reply
from requests_app.triage.saved_views import save_view
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Replacement
from tests.browser import scene
from tests.personas import a_team, a_user
from tests.reading import ReadingClient
from tests.requests_app.workarounds.builders import a_workaround

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("access")]

OPEN_TO_ALL = {"healthz", "theme", "account/sign-in/", "api/v1/schema", "api/v1/schema.yaml", "api/v1/^.*$"}
# The catalogue, SKUs and capacity are the same for everybody who is signed in.
SHARED = re.compile(r"^(api/v1/)?(catalogue|offerings|skus|capacity)")
HOUSES = {"portal", "provisioning", "requests_app"}


def routes() -> list[str]:
    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
        for each in patterns:
            path = prefix + str(each.pattern)
            if isinstance(each, URLResolver):
                if not path.startswith("admin/"):
                    yield from walk(each.url_patterns, path)
            else:
                yield path

    return sorted(walk(get_resolver().url_patterns, ""))


@pytest.fixture(scope="module")
def world(
    django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[dict[str, str]]:
    """Something of the team behind every kind of name in an address; built once, gone after this file."""
    with django_db_blocker.unblock(), transaction.atomic():
        team = a_team("vision")
        member, lead = a_user("member", team=team), a_user("lead", team=team, role="lead")
        triager = a_user("triager", staff_role="triager")
        scene.build(team=team, member=member, lead=lead, triager=triager)
        a_user("stranger", team=a_team("speech"))
        a_user("operator", staff_role="operator")
        a_user("admin", staff_role="admin")
        names = _names(team, member)
        yield names
        transaction.set_rollback(True)


def _names(team: Team, member: User) -> dict[str, str]:
    cluster = Cluster.objects.filter(team=team).earliest("pk")
    node = Reservation.objects.filter(cluster=cluster, released_at=None).earliest("pk").node
    workaround, project = _workaround(team)
    token, _ = issue_token(name="ci", scopes=["requests:read"], by=member)
    hold = Hold.objects.order_by("pk").first()
    desk = _at_the_desk(team)
    ticket = Ticket.objects.filter(team=team).earliest("pk")
    said = comment(ticket=ticket, body="See the log.", files=[SimpleUploadedFile("log.txt", b"x")], by=member)
    return {
        "comments": str(said.pk),
        "inbox": str(Notification.objects.filter(recipient=member, channel="inbox").latest("pk").pk),
        "dead": "1",
        "aside": "1",
        "bouncing": member.username,
        "owed": _a_commitment(ticket, member),
        "commitments": _a_commitment(ticket, member),
        "files": said.attachments.get().public_id,
        "attachments": said.attachments.get().public_id,
        "tickets": Ticket.objects.filter(team=team).earliest("pk").ref,
        "desk": Ticket.objects.filter(team=team).earliest("pk").ref,
        "clusters": cluster.ref,
        "orders": Order.objects.filter(team=team).earliest("pk").ref,
        "jobs": Job.objects.filter(order__team=team).earliest("pk").ref,
        "log": "1",
        "credentials": "site",
        "schedules": "nightly",
        "nodes": node.name,
        "recheck": node.name,
        "workarounds": workaround.ref,
        "do": "end",
        "replacements": project.ref,
        "debt": project.ref,
        "teams": team.slug,
        "members": member.username,
        "tokens": token.public_id,
        "catalogue": "gpu-cluster",
        "offerings": "gpu-cluster",
        "capacity": node.sku.slug,
        "holds": str(hold.pk if hold else 1),
        "offers": "1",
        "promises": _a_promise(team),
        "reports": _newest_report(node.pk),
        "calendars": _a_calendar(),
        "evidence": "nvidia-smi-xml",
        **desk,
    }


def _a_promise(team: Team) -> str:
    line = Line.objects.filter(ticket__team=team).earliest("pk")
    day = now().date()
    made = Promise.objects.create(line=line, quantity=1, due_on=day, first_due_on=day, status=PROMISE.initial)
    return str(made.pk)


def _a_calendar() -> str:
    row, _ = Calendar.objects.get_or_create(slug="auckland", defaults={"name": "Auckland", "zone": "UTC"})
    return row.slug


def _a_commitment(ticket: Ticket, by: User) -> str:
    owed = Owed(what="A launch", due_on=now().date() + timedelta(days=9), loss_per_day=9, sponsor="triager")
    return str(commit(ticket=ticket, owed=owed, by=by).pk)


def _at_the_desk(team: Team) -> dict[str, str]:
    """A relation, a bulk run, a shift, a canned text, a view and something to take back."""
    triager = User.objects.get(username="triager")
    first, second = Ticket.objects.filter(team=team).order_by("pk")[:2]
    relation = relate(ticket=first, kind="relates_to", other=second, by=triager)
    run = bulk.freeze(filters={"view": "all", "team": team.slug}, by=triager)
    view = save_view(name="All", filters={"view": "all"}, by=triager)
    reply = save_reply(name="Hello", use="comment", body="Hello {requester}.", by=triager)
    days = {"since": now().date(), "until": None, "weekdays": range(7), "begins": time(0), "ends": time(0)}
    shift = set_shift(person=triager, zone="UTC", **days, by=triager)  # type: ignore[arg-type]
    return {
        "relations": str(relation.pk),
        "bulk": str(run.pk),
        "views": str(view.pk),
        "replies": str(reply.pk),
        "rota": str(shift.pk),
        "undo": "1",
        "do": "decline",
    }


def _workaround(team: Team) -> tuple[Workaround, Replacement]:
    """One on a ticket far from focus, so that it has a project."""
    ticket = Ticket.objects.filter(team=team, status="submitted").latest("pk")
    made = a_workaround(ticket, User.objects.get(username="triager"))
    assert made.replacement is not None
    return made, made.replacement


def _newest_report(node: int) -> str:
    found = apps.get_model("provisioning", "Report").objects.filter(node=node).order_by("-pk").first()
    return str(found.pk if found else 1)


def address(route: str, world: dict[str, str]) -> str:
    """The route with the team's things in it; the word before a parameter says what it names."""
    parts = route.split("/")
    for position, part in enumerate(parts):
        if part.startswith("<"):
            word = next(each for each in reversed(parts[:position]) if each in world)
            parts[position] = world[word]
    return "/" + "/".join(parts).replace("^.*$", "nowhere")


def is_about_one_thing(route: str) -> bool:
    return "<" in route and not SHARED.match(route)


def signed_in(name: str) -> Client:
    client = ReadingClient(raise_request_exception=True)
    client.force_login(User.objects.get(username=name))
    return client


def footprint() -> dict[str, int]:
    return {
        model._meta.label: model.objects.count()
        for model in apps.get_models()
        if model._meta.app_label in HOUSES
    }


def test_nobody_gets_in_without_signing_in(world: dict[str, str]) -> None:
    open_doors = {}
    for route in routes():
        if route in OPEN_TO_ALL:
            continue
        answer = Client().get(address(route, world))
        sent_away = answer.status_code in {401, 405} or (
            answer.status_code == 302 and answer["Location"].startswith("/account/sign-in/")
        )
        if not sent_away:
            open_doors[route] = answer.status_code
    assert open_doors == {}


def test_stranger_learns_nothing_of_another_team_by_reading(world: dict[str, str]) -> None:
    client = signed_in("stranger")
    seen = {
        route: answer.status_code
        for route in routes()
        if is_about_one_thing(route)
        and (answer := client.get(address(route, world))).status_code not in {404, 405}
    }
    assert seen == {}


def test_stranger_changes_nothing_of_another_team(world: dict[str, str]) -> None:
    client = signed_in("stranger")
    before = footprint()
    versions = list(Ticket.objects.order_by("pk").values_list("pk", "status", "version"))
    done = {}
    for route in routes():
        if not is_about_one_thing(route):
            continue
        for verb in ("post", "put", "patch", "delete"):
            body = {"version": 1, "reason": "mine now", "note": "x"}
            answer = getattr(client, verb)(address(route, world), body, content_type="application/json")
            if answer.status_code not in {404, 405}:
                done[f"{verb} {route}"] = answer.status_code
    assert done == {}
    assert footprint() == before
    assert list(Ticket.objects.order_by("pk").values_list("pk", "status", "version")) == versions


@pytest.mark.parametrize("persona", ["member", "lead", "triager", "operator", "admin"])
def test_no_route_breaks_for_anybody(world: dict[str, str], persona: str) -> None:
    client = signed_in(persona)
    broken = {
        route: answer.status_code
        for route in routes()
        if (answer := client.get(address(route, world))).status_code >= 500
    }
    assert broken == {}


def test_member_reads_everything_of_the_own_team(world: dict[str, str]) -> None:
    client = signed_in("member")
    refused = {
        route: answer.status_code
        for route in routes()
        if is_about_one_thing(route)
        and not route.startswith(("desk/", "api/v1/desk/", "nodes/<str:name>/holds", "jobs/<str:ref>/force"))
        and (answer := client.get(address(route, world))).status_code not in {200, 302, 405}
    }
    assert refused == {}


def test_token_without_a_scope_opens_no_api_route(world: dict[str, str]) -> None:
    member = User.objects.get(username="member")
    _, raw = issue_token(name="narrow", scopes=["quota:read"], by=member)
    ApiToken.objects.filter(name="narrow").update(scopes=[])
    opened = {}
    for route in routes():
        if not route.startswith("api/v1/") or route in OPEN_TO_ALL:
            continue
        answer = Client().get(address(route, world), headers={"Authorization": f"Bearer {raw}"})
        if answer.status_code not in {403, 405}:
            opened[route] = answer.status_code
    assert set(opened) <= {"api/v1/me"}
