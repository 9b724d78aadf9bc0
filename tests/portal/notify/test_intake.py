"""What becomes of a mail: said once by who signed for it, with the visibility of what it answers, and never in a circle."""

from __future__ import annotations

import io
import mailbox
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from portal.accounts.models import Membership, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from portal.notify.inbound import intake, mailboxes
from portal.notify.inbound.intake import take
from portal.notify.models import Bouncing, Notification, ReceivedMail
from portal.notify.services import KEPT_ASIDE, put_away_old
from requests_app.attachments.models import Attachment
from requests_app.conversation.services import comment, hide_comment
from requests_app.tickets.models import Comment, Ticket
from requests_app.triage.services import ask_back
from tests.portal.notify.conftest import settled
from tests.portal.notify.imap_server import imap_server
from tests.portal.notify.mails import a_bounce, a_mail, a_reply, reply_address
from tests.portal.notify.smtp_server import Server

pytestmark = pytest.mark.django_db


def said(ticket: Ticket) -> list[tuple[str, str, bool]]:
    rows = Comment.objects.filter(ticket=ticket).select_related("author").order_by("pk")
    return [(row.author.username, row.body, row.internal) for row in rows]


def test_reply_becomes_a_comment(ticket: Ticket, member: User) -> None:
    found = take(a_reply(ticket, member, "Take them.\n\nOn Monday, Desk wrote:\n> Four."))
    assert found.verdict == "commented"
    assert said(ticket) == [("member", "Take them.", False)]
    assert Comment.objects.get().by_mail


def test_same_mail_twice_is_one_comment(ticket: Ticket, member: User) -> None:
    raw = a_reply(ticket, member, "Take them.")
    take(raw)
    take(b"Received: again\r\n" + raw)
    assert len(said(ticket)) == 1
    assert ReceivedMail.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_same_mail_at_two_workers_is_one_comment(ticket: Ticket, member: User) -> None:
    raw, start = a_reply(ticket, member, "Take them."), threading.Barrier(4)

    def bring() -> None:
        try:
            start.wait()
            take(raw)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=bring) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said(ticket)) == 1


def test_reply_to_a_note_stays_a_note(ticket: Ticket, triager: User) -> None:
    take(a_reply(ticket, triager, "Agreed.", internal=True))
    assert said(ticket) == [("triager", "Agreed.", True)]


def test_reply_to_a_comment_that_was_hidden_since_is_a_note(
    smtp: Server, ticket: Ticket, triager: User, operator: User, go: Callable[[], int]
) -> None:
    settled(ticket)
    first = comment(ticket=ticket, body="@triager, look.", by=operator)
    go()
    (mail,) = smtp.to("triager@example.org")
    hide_comment(comment=first, by=operator)
    take(a_reply(ticket, triager, "Seen.", In_Reply_To=str(mail.mail["Message-ID"])))
    assert said(ticket)[-1] == ("triager", "Seen.", True)


def test_spoofed_sender_without_a_token_says_nothing(ticket: Ticket, member: User) -> None:
    found = take(a_mail(member.email, "qm@portal.example", "I am the member."))
    assert (found.verdict, found.text) == ("quarantined", "I am the member.")
    assert said(ticket) == []


def test_token_in_other_hands_says_nothing(ticket: Ticket, member: User, lead: User) -> None:
    for sender in (lead.email, "stranger@example.net", f"{member.email}, {lead.email}"):
        raw = a_mail(sender, reply_address(ticket, member), f"I am not they: {sender}")
        assert take(raw).verdict == "quarantined"
    assert said(ticket) == []


def test_who_left_says_nothing_any_more(ticket: Ticket, member: User) -> None:
    Membership.objects.filter(user=member).delete()
    assert take(a_reply(ticket, member, "Still me.")).verdict == "quarantined"
    assert said(ticket) == []


def test_who_left_infra_writes_no_notes_any_more(ticket: Ticket, triager: User) -> None:
    User.objects.filter(pk=triager.pk).update(staff_role="")
    Membership.objects.create(user=triager, team=ticket.team)
    assert take(a_reply(ticket, triager, "Still me.", internal=True)).verdict == "quarantined"
    assert said(ticket) == []


def test_quarantine_is_told_to_admins(ticket: Ticket, member: User, admin_user: User) -> None:
    take(a_mail("who@example.net", "qm@portal.example", "Hello?"))
    deliver_all()
    assert Notification.objects.filter(recipient=admin_user, kind="notify.mail_quarantined").exists()


def test_reply_to_the_desks_question_answers_it(waiting: Ticket, member: User) -> None:
    assert take(a_reply(waiting, member, "nas-1, since noon.")).verdict == "answered"
    waiting.refresh_from_db()
    assert waiting.status == "submitted"
    assert said(waiting) == []


def test_reply_to_an_older_comment_is_no_answer_to_the_question(
    smtp: Server, ticket: Ticket, member: User, triager: User, go: Callable[[], int]
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="Soon.", by=triager)
    go()
    old = str(smtp.to("member@example.org")[0].mail["Message-ID"])
    fresh = Ticket.objects.get(pk=ticket.pk)
    ask_back(ticket=fresh, version=fresh.version, question="Which share?", by=triager)
    go()
    question = str(smtp.to("member@example.org")[-1].mail["Message-ID"])
    assert take(a_reply(ticket, member, "Thanks!", In_Reply_To=old)).verdict == "commented"
    assert Ticket.objects.get(pk=ticket.pk).status == "waiting"
    assert take(a_reply(ticket, member, "nas-1.", In_Reply_To=question)).verdict == "answered"
    assert Ticket.objects.get(pk=ticket.pk).status == "submitted"


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Auto_Submitted": "auto-replied"}, "no person"),
        ({"Precedence": "junk"}, "no person"),
        ({"Return_Path": "<>"}, "no person"),
        ({"Subject": "Out of office: away until Monday"}, "no person"),
        ({"X_Loop": "qm@portal.example"}, "circle"),
    ],
)
def test_machines_start_no_loop(ticket: Ticket, member: User, headers: dict[str, str], reason: str) -> None:
    found = take(a_reply(ticket, member, "I am away.", **headers))
    assert found.verdict == "ignored"
    assert reason in found.reason
    assert said(ticket) == []


@pytest.mark.parametrize(
    "own", ["qm@portal.example", "Quartermaster <QM@portal.example>", "reply+abc@portal.example"]
)
def test_portals_own_mail_is_none(ticket: Ticket, member: User, own: str) -> None:
    assert take(a_mail(own, reply_address(ticket, member), "Hello me.")).verdict == "ignored"


def test_own_address_in_copy_is_nobody(ticket: Ticket, member: User) -> None:
    take(a_reply(ticket, member, "Take them.", Cc="qm@portal.example, other@example.org"))
    assert said(ticket) == [("member", "Take them.", False)]
    assert not User.objects.filter(email__in=["qm@portal.example", "other@example.org"]).exists()


def test_twenty_automatic_replies_are_one_ticket_and_no_answer(
    smtp: Server, ticket: Ticket, member: User, triager: User, go: Callable[[], int]
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="Hello.", by=triager)
    go()
    sent = len(smtp.to("member@example.org"))
    for number in range(20):  # a machine that doesn't say that it is one, with words of its own each time
        take(a_reply(ticket, member, f"I am away. Case {number}."))
    go()
    assert Ticket.objects.count() == 1
    assert len(said(ticket)) <= 1 + intake.MOST_IN_A_WHILE
    assert len(smtp.to("member@example.org")) == sent
    assert len(smtp.to("triager@example.org")) <= 1


def test_same_words_again_and_again_are_one_comment(ticket: Ticket, member: User) -> None:
    for _ in range(20):
        take(a_reply(ticket, member, "I am away."))
    assert len(said(ticket)) == 1


def test_bounce_pauses_mail_and_tells_admins(ticket: Ticket, member: User, admin_user: User) -> None:
    found = take(a_bounce(reply_address(ticket, member, what="bounce"), member.email))
    assert found.verdict == "bounced"
    assert Bouncing.objects.get().user == member
    deliver_all()
    assert Notification.objects.filter(recipient=admin_user, kind="notify.address_bounced").exists()


@pytest.mark.parametrize(
    ("to", "recipient", "status"),
    [
        ("qm@portal.example", "member@example.org", "5.1.1"),
        ("bounce+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@portal.example", "member@example.org", "5.1.1"),
        ("", "member@example.org", "4.2.2"),
        ("", "else@example.org", "5.1.1"),
    ],
)
def test_forged_or_passing_report_stops_no_mail(
    ticket: Ticket, member: User, to: str, recipient: str, status: str
) -> None:
    take(a_bounce(to or reply_address(ticket, member, what="bounce"), recipient, status=status))
    assert not Bouncing.objects.exists()
    assert said(ticket) == []


def test_files_come_along_and_what_is_too_big_is_put_aside(
    settings: Any, ticket: Ticket, member: User
) -> None:
    from email import message_from_bytes, policy

    mail = message_from_bytes(a_reply(ticket, member, "See."), policy=policy.default)
    mail.add_attachment(b"hello", maintype="text", subtype="plain", filename="../log.txt")  # type: ignore[attr-defined]
    take(mail.as_bytes())
    assert Attachment.objects.get().name == "log.txt"
    settings.ATTACHMENT_MIB = 0
    mail.replace_header("Message-ID", "<other@x>")
    mail.replace_header("Subject", "other")
    Comment.objects.update(body="other")
    assert take(mail.as_bytes()).verdict == "quarantined"


@pytest.mark.parametrize(
    "text", ["x" * 20_000, "nul\x00 bell\x07 \u202eright", "\ud800".encode("utf-8", "replace").decode()]
)
def test_strange_words_are_kept_as_far_as_they_can_be(ticket: Ticket, member: User, text: str) -> None:
    assert take(a_reply(ticket, member, text)).verdict == "commented"
    assert len(said(ticket)[0][1]) <= 5000


def test_empty_reply_says_nothing(ticket: Ticket, member: User) -> None:
    assert take(a_reply(ticket, member, "> only a quote")).verdict == "ignored"


@pytest.fixture
def maildir(tmp_path: Path, settings: Any) -> mailbox.Maildir:
    settings.MAIL_IN_URL = f"maildir:{tmp_path / 'box'}"
    return mailbox.Maildir(tmp_path / "box", create=True)


def test_maildir_is_emptied_after_everything_is_kept(
    maildir: mailbox.Maildir, ticket: Ticket, member: User
) -> None:
    for words in ("One.", "Two."):
        maildir.add(a_reply(ticket, member, words))
    assert mailboxes.receive() == 2
    assert len(maildir) == 0
    assert {body for _, body, _ in said(ticket)} == {"One.", "Two."}


def test_mail_stays_when_it_could_not_be_kept_and_the_others_go_on(
    maildir: mailbox.Maildir, ticket: Ticket, member: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ("One.", "Two."):
        maildir.add(a_reply(ticket, member, words))
    real = mailboxes.take

    def breaks(raw: bytes) -> Any:
        if b"One." in raw:
            raise OSError("disk full")
        return real(raw)

    monkeypatch.setattr(mailboxes, "take", breaks)
    assert mailboxes.receive() == 1
    assert len(maildir) == 1
    monkeypatch.setattr(mailboxes, "take", real)
    assert mailboxes.receive() == 1
    assert len(said(ticket)) == 2


def test_process_that_dies_before_deleting_says_nothing_twice(
    maildir: mailbox.Maildir, ticket: Ticket, member: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    maildir.add(a_reply(ticket, member, "One."))

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mailbox.Maildir, "discard", dies)
    with pytest.raises(KeyboardInterrupt):
        mailboxes.receive()
    monkeypatch.undo()
    assert mailboxes.from_maildir(Path(maildir._path)) == 1  # type: ignore[attr-defined]
    assert len(said(ticket)) == 1


def test_imap_mailbox_is_read_and_emptied(settings: Any, ticket: Ticket, member: User) -> None:
    with imap_server(a_reply(ticket, member, "One."), a_reply(ticket, member, "Two.")) as box:
        settings.MAIL_IN_URL = box.url
        assert mailboxes.receive() == 2
        assert box.mails == {}
        assert mailboxes.receive() == 0
    assert len(said(ticket)) == 2
    assert any(command.startswith('LOGIN user "password"') for command in box.log)


def test_pipe_takes_one_mail(
    ticket: Ticket, member: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(a_reply(ticket, member, "One."))))
    call_command("receive_mail")
    assert "commented" in capsys.readouterr().out
    assert len(said(ticket)) == 1


def test_pipe_asks_the_mail_server_to_try_again(
    ticket: Ticket, member: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    from portal.management.commands import receive_mail

    def away(raw: bytes) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(receive_mail, "take", away)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    with pytest.raises(SystemExit) as stopped:
        call_command("receive_mail", stderr=io.StringIO())
    assert stopped.value.code == 75


def test_comment_goes_out_by_smtp_and_its_reply_comes_in_by_maildir(
    smtp: Server, maildir: mailbox.Maildir, ticket: Ticket, member: User, triager: User, go: Callable[[], int]
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="Four nodes now, one on Monday?", by=triager)
    go()
    (mail,) = smtp.to("member@example.org")
    quoted = "\n".join(f"> {line}" for line in mail.text.splitlines())
    answer = a_mail(
        "Member <member@example.org>",
        str(mail.mail["Reply-To"]),
        f"Take them.\n\nOn Monday, Quartermaster wrote:\n{quoted}",
        In_Reply_To=str(mail.mail["Message-ID"]),
        References=str(mail.mail["References"]),
    )
    maildir.add(answer)
    assert mailboxes.receive() == 1
    assert said(ticket)[-1] == ("member", "Take them.", False)
    go()
    (back,) = smtp.to("triager@example.org")
    assert "Take them." in back.text
    assert len(smtp.to("member@example.org")) == 1


def test_mail_that_was_put_aside_and_nobody_wanted_is_let_go(ticket: Ticket, member: User) -> None:
    found = take(a_mail(member.email, "qm@portal.example", "I am the member."))
    assert (found.verdict, put_away_old()) == ("quarantined", 0)
    ReceivedMail.objects.filter(pk=found.pk).update(at=now() - KEPT_ASIDE - timedelta(minutes=1))
    assert put_away_old() == 1
    gone = ReceivedMail.objects.get(pk=found.pk)
    assert (gone.text, gone.verdict) == ("", "quarantined")
    assert gone.put_away_at is not None
    assert put_away_old() == 0
