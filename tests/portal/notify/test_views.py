"""The inbox, the choices, a team's chat and the mail room, as everybody who has a part in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Membership, User
from portal.accounts.services import issue_token
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from portal.notify import preferences
from portal.notify.inbound.intake import take
from portal.notify.kinds import Channel, Topic, When
from portal.notify.models import Bouncing, ChatRoom, Notification, ReceivedMail
from requests_app.conversation.services import comment, hide_comment
from requests_app.tickets.models import Ticket
from tests.portal.notify.conftest import settled
from tests.portal.notify.mails import a_mail
from tests.portal.notify.smtp_server import Server

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(ticket: Ticket, triager: User) -> Ticket:
    """The desk has commented, and everybody has heard."""
    settled(ticket)
    comment(ticket=ticket, body="Four nodes now?", by=triager)
    deliver_all()
    return ticket


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_inbox_says_what_happened_and_the_rail_how_much_is_new(
    client: Client, told: Ticket, member: User
) -> None:
    client.force_login(member)
    shown = page(client, "/inbox/")
    assert "triager wrote a comment" in shown
    assert "Four nodes now?" in shown
    assert "unread" in shown


def test_inbox_is_ones_own(client: Client, told: Ticket, lead: User, member: User) -> None:
    client.force_login(lead)
    assert "Four nodes" not in page(client, "/inbox/")
    message = Notification.objects.filter(recipient=member, channel="inbox").latest("pk")
    assert client.get(f"/inbox/{message.pk}/").status_code == 404
    client.post("/inbox/read", {"message": str(message.pk)})
    message.refresh_from_db()
    assert message.read_at is None


@pytest.mark.parametrize("why", ["left", "hidden"])
def test_inbox_forgets_what_may_not_be_seen_any_more(
    client: Client, told: Ticket, member: User, triager: User, why: str
) -> None:
    if why == "left":
        Membership.objects.filter(user=member).delete()
    else:
        hide_comment(comment=told.comments.get(), by=triager)
    client.force_login(member)
    assert "Four nodes" not in page(client, "/inbox/")


def test_message_is_opened_at_its_comment_and_is_read_then(
    client: Client, told: Ticket, member: User
) -> None:
    client.force_login(member)
    message = Notification.objects.filter(recipient=member, channel="inbox", comment__isnull=False).get()
    answer = client.post("/inbox/read", {"message": str(message.pk), "open": "1"}, follow=True)
    assert answer.redirect_chain[-1][0].endswith(f"#comment-{message.comment_id}")
    message.refresh_from_db()
    assert message.read_at is not None
    assert "Four nodes" not in page(client, "/inbox/?show=unread")
    assert client.get("/inbox/?show=all").status_code == 422


def test_inbox_costs_the_same_for_10_and_for_60(client: Client, told: Ticket, member: User) -> None:
    def fill(count: int) -> None:
        event = Event.objects.latest("pk")
        for number in range(count):
            made = Event.objects.create(name=event.name, subject=event.subject, actor=event.actor)
            Notification.objects.create(
                event=made, recipient=member, channel="inbox", kind="ticket.answered", topic="talk",
                ticket=told, title=f"News {number}", status="sent",
            )  # fmt: skip

    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get("/inbox/").status_code == 200
        return len(seen)

    client.force_login(member)
    fill(10)
    few = cost()
    fill(50)
    assert cost() == few
    assert few <= 8


def test_choices_are_kept_and_nonsense_is_refused(client: Client, member: User) -> None:
    client.force_login(member)
    sent = {"talk.mail": "digest", "named.inbox": "off", "digest_hour": "17"}
    assert client.post("/account/notifications/", sent).status_code == 302
    chosen = preferences.chosen_by(member)
    assert chosen[(Topic.TALK, Channel.MAIL)] is When.DIGEST
    assert chosen[(Topic.NAMED, Channel.INBOX)] is When.OFF
    assert preferences.digest_hour(member) == 17
    for wrong in (
        {"talk.mail": "soon", "digest_hour": "8"},
        {"gossip.mail": "now", "digest_hour": "8"},
        {"talk.pigeon": "now", "digest_hour": "8"},
        {"talk.inbox": "digest", "digest_hour": "8"},
        {"account.mail": "off", "digest_hour": "8"},
        {"digest_hour": "24"},
        {"digest_hour": "x"},
    ):
        assert client.post("/account/notifications/", wrong).status_code == 422
    assert preferences.chosen_by(member) == chosen


def test_lead_sets_the_chat_and_its_address_is_never_shown(
    client: Client, told: Ticket, lead: User, member: User, stranger: User
) -> None:
    secret = "https://hooks.example.org/services/s3cret"
    client.force_login(lead)
    assert client.post("/teams/vision/chat/", {"url": "http://x"}).status_code == 422
    client.post("/teams/vision/chat/", {"url": secret})
    assert ChatRoom.objects.get().secret_url == secret
    assert "s3cret" not in page(client, "/teams/vision/chat/")
    client.force_login(member)
    assert client.post("/teams/vision/chat/", {"url": ""}).status_code == 403
    client.force_login(stranger)
    assert client.get("/teams/vision/chat/").status_code == 404
    assert ChatRoom.objects.exists()


@pytest.mark.parametrize("person", ["member", "lead", "triager", "operator"])
def test_mail_room_is_there_for_admins_alone(
    client: Client, person: str, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(person))
    assert client.get("/mail-room/").status_code == 404
    for action in ("dead/1/again", "aside/1/away", "bouncing/member/again"):
        assert client.post(f"/mail-room/{action}").status_code == 404


def test_admin_reads_what_was_put_aside_and_puts_it_away(client: Client, admin_user: User) -> None:
    take(a_mail("who@example.net", "qm@portal.example", "<script>alert(1)</script> Hello?"))
    client.force_login(admin_user)
    shown = page(client, "/mail-room/")
    assert "Hello?" in shown
    assert "<script>alert" not in shown
    client.post(f"/mail-room/aside/{ReceivedMail.objects.get().pk}/away")
    assert "Hello?" not in page(client, "/mail-room/")
    assert ReceivedMail.objects.get().text == ""


def test_admin_sees_what_waits_without_a_server_and_starts_mail_to_an_address_again(
    client: Client, told: Ticket, member: User, admin_user: User
) -> None:
    Bouncing.objects.create(user=member, address=member.email)
    client.force_login(admin_user)
    shown = page(client, "/mail-room/")
    assert "No mail server is configured" in shown
    client.post("/mail-room/bouncing/member/again")
    assert not Bouncing.objects.exists()


def test_person_whose_mail_comes_back_is_told_and_tries_again(client: Client, member: User) -> None:
    Bouncing.objects.create(user=member, address=member.email)
    client.force_login(member)
    assert "came back" in page(client, "/account/notifications/")
    client.post("/account/notifications/again")
    assert not Bouncing.objects.exists()


def test_dead_message_is_sent_again_from_the_mail_room(
    client: Client, smtp: Server, told: Ticket, member: User, admin_user: User, go: Callable[[], int]
) -> None:
    dead = Notification.objects.filter(recipient=member, channel="mail").latest("pk")
    Notification.objects.filter(pk=dead.pk).update(status="dead", last_error="451 later")
    client.force_login(admin_user)
    assert "451 later" in page(client, "/mail-room/")
    client.post(f"/mail-room/dead/{dead.pk}/again")
    go()
    assert len(smtp.to("member@example.org")) == 1


def api(client: Client, person: User, *scopes: str) -> dict[str, str]:
    _, raw = issue_token(name=f"t-{'-'.join(scopes)}", scopes=list(scopes), by=person)
    return {"Authorization": f"Bearer {raw}"}


def test_client_reads_the_inbox_and_chooses(client: Client, told: Ticket, member: User) -> None:
    signed = api(client, member, "requests:read", "requests:write")
    rows = client.get("/api/v1/inbox?unread=true", headers=signed).json()["results"]
    assert rows[0]["ticket"] == told.ref
    body = {"messages": [rows[0]["id"]]}
    assert client.post("/api/v1/inbox/read", body, "application/json", headers=signed).json() == {"read": 1}
    assert client.get("/api/v1/inbox?unred=true", headers=signed).status_code == 422
    wanted = {"choices": [{"topic": "talk", "channel": "mail", "when": "off"}], "digest_hour": 6}
    chosen = client.post("/api/v1/notification-choices", wanted, "application/json", headers=signed).json()
    assert chosen["digest_hour"] == 6
    assert {"topic": "talk", "channel": "mail", "when": "off"}.items() <= next(
        row for row in chosen["choices"] if (row["topic"], row["channel"]) == ("talk", "mail")
    ).items()
