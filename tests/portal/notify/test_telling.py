"""Who hears of what: those who may see it when it is sent, once, and never of what they did themselves."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from typing import Any

import pytest

from portal.accounts.models import Membership, Team, User
from portal.accounts.services import issue_token
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from portal.ledger.services import record
from portal.notify import outgoing, sending
from portal.notify.kinds import KINDS, OWN_SENTENCES, Channel, Topic
from portal.notify.models import Bouncing, Notification
from portal.notify.preferences import choose
from portal.notify.reactions import tell
from portal.notify.sending import deliver_due, retry
from requests_app.conversation import watching
from requests_app.conversation.services import comment, edit_comment, hide_comment
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import answer_ticket
from requests_app.triage.services import decline_ticket
from tests.portal.notify.conftest import settled
from tests.portal.notify.smtp_server import Server

pytestmark = pytest.mark.django_db
Go = Callable[[], int]


def decline(ticket: Ticket, by: User, reason: str = "All are taken.") -> Ticket:
    return decline_ticket(ticket=ticket, version=ticket.version, reason_code="capacity", reason=reason, by=by)


def subjects(server: Server) -> list[tuple[str, str]]:
    return [(each.recipients[0], str(each.mail["Subject"])) for each in server.got]


def test_comment_is_mailed_to_who_follows_and_not_to_who_wrote_it(
    smtp: Server, ticket: Ticket, member: User, triager: User, go: Go
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="We have **four** nodes.", by=triager)
    go()
    (mail,) = smtp.got
    assert mail.recipients == ["member@example.org"]
    assert "We have **four** nodes." in mail.text
    html = mail.mail.get_body(("html",))
    assert html is not None
    assert "<strong>four</strong>" in html.get_content()


def test_mail_says_that_a_machine_wrote_it_and_belongs_to_its_thread(
    smtp: Server, ticket: Ticket, triager: User, go: Go
) -> None:
    settled(ticket)
    for words in ("One.", "Two."):
        comment(ticket=ticket, body=words, by=triager)
        go()
    first, second = (each.mail for each in smtp.got)
    assert first["Auto-Submitted"] == "auto-generated"
    assert first["List-Id"]
    assert first["References"] == second["References"]
    assert first["Message-ID"] != second["Message-ID"]
    assert first["Subject"] == f"[{ticket.ref}] {ticket.title}"
    assert first["Reply-To"].startswith("Quartermaster <reply+")
    assert smtp.got[0].sender.startswith("bounce+")


def test_title_can_not_write_headers(smtp: Server, ticket: Ticket, triager: User, go: Go) -> None:
    settled(ticket)
    Ticket.objects.filter(pk=ticket.pk).update(title="x\r\nBcc: all@example.org")
    comment(ticket=Ticket.objects.get(pk=ticket.pk), body="One.", by=triager)
    go()
    assert smtp.got[0].mail["Bcc"] is None
    assert smtp.got[0].recipients == ["member@example.org"]


def test_several_things_at_once_are_one_mail(
    smtp: Server, ticket: Ticket, triager: User, operator: User, go: Go
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="One.", by=triager)
    comment(ticket=ticket, body="Two.", by=operator)
    go()
    (mail,) = smtp.to("member@example.org")
    assert "One." in mail.text
    assert "Two." in mail.text


def test_note_is_mailed_to_infra_alone_even_when_the_requester_watches_and_is_named(
    smtp: Server, ticket: Ticket, member: User, triager: User, operator: User, go: Go
) -> None:
    settled(ticket)
    watching.watch(ticket=ticket, by=operator)
    watching.watch(ticket=ticket, by=member)
    comment(ticket=ticket, body="@member must not know.", internal=True, by=triager)
    go()
    assert [each.recipients for each in smtp.got] == [["operator@example.org"]]
    assert not Notification.objects.filter(recipient=member, comment__isnull=False).exists()


@pytest.mark.parametrize("why", ["left", "hidden", "inactive"])
def test_who_may_not_read_it_any_more_gets_no_mail(
    smtp: Server, ticket: Ticket, member: User, triager: User, later: Any, why: str
) -> None:
    settled(ticket)
    said = comment(ticket=ticket, body="Ours.", by=triager)
    deliver_all()
    if why == "left":
        Membership.objects.filter(user=member).delete()
    elif why == "hidden":
        hide_comment(comment=said, by=triager)
    else:
        User.objects.filter(pk=member.pk).update(is_active=False)
    later(seconds=100)
    deliver_due()
    assert smtp.got == []
    (dropped,) = Notification.objects.filter(recipient=member, channel=Channel.MAIL, comment=said)
    assert dropped.status == "dropped"
    assert dropped.last_error


def test_edited_comment_is_mailed_once_as_it_reads_then(
    smtp: Server, ticket: Ticket, triager: User, go: Go
) -> None:
    settled(ticket)
    said = comment(ticket=ticket, body="Frist.", by=triager)
    edit_comment(comment=said, version=1, body="First.", by=triager)
    go()
    (mail,) = smtp.got
    assert "First." in mail.text
    assert "Frist." not in mail.text


def test_decision_that_was_taken_back_is_mailed_never_and_one_made_anew_once(
    smtp: Server, ticket: Ticket, triager: User, go: Go
) -> None:
    ticket = settled(ticket)
    declined = decline(ticket, triager, "Too fast.")
    deliver_all()
    Ticket.objects.filter(pk=ticket.pk).update(status="submitted")
    go()
    assert smtp.to("member@example.org") == []
    declined.refresh_from_db()
    decline(declined, triager, "Now thought through.")
    go()
    (mail,) = smtp.to("member@example.org")
    assert "Now thought through." in mail.text
    assert "Too fast." not in mail.text


def test_decision_taken_back_and_made_anew_within_the_delay_is_told_once(
    smtp: Server, ticket: Ticket, triager: User, go: Go
) -> None:
    ticket = settled(ticket)
    declined = decline(ticket, triager, "Too fast.")
    Ticket.objects.filter(pk=ticket.pk).update(status="submitted")
    declined.refresh_from_db()
    decline(declined, triager, "Now thought through.")
    go()
    (mail,) = smtp.to("member@example.org")
    assert "Too fast." not in mail.text


def undo(ticket: Ticket, by: User) -> None:
    """As the desk's undo does it: the ticket stands as before, and an event says which events no longer count."""
    event = Event.objects.filter(name="ticket.declined", subject=ticket.ref).latest("pk")
    Ticket.objects.filter(pk=ticket.pk).update(status="submitted")
    record("ticket.undone", subject=ticket.ref, payload={"undoes": [event.pk], "says": "declined"}, by=by)
    deliver_all()


def test_what_is_undone_before_anybody_read_of_it_never_was(
    smtp: Server, ticket: Ticket, member: User, triager: User, go: Go
) -> None:
    decline(settled(ticket), triager)
    deliver_all()
    assert Notification.objects.filter(recipient=member, kind="ticket.declined").exists()
    undo(ticket, triager)
    go()
    assert smtp.to("member@example.org") == []
    shown = Notification.objects.visible_to(member)
    assert not shown.filter(kind__in=["ticket.declined", "ticket.undone"]).exists()


def test_who_has_read_of_it_hears_that_it_was_undone(
    smtp: Server, ticket: Ticket, member: User, triager: User, go: Go
) -> None:
    decline(settled(ticket), triager)
    deliver_all()
    Notification.objects.filter(recipient=member, channel="inbox").update(read_at=ticket.submitted_at)
    undo(ticket, triager)
    go()
    (mail,) = smtp.to("member@example.org")
    assert "All are taken." not in mail.text
    assert Notification.objects.visible_to(member).filter(kind="ticket.undone").exists()


def test_same_event_twice_tells_once(smtp: Server, ticket: Ticket, triager: User, go: Go) -> None:
    settled(ticket)
    comment(ticket=ticket, body="One.", by=triager)
    deliver_all()
    event = Event.objects.filter(name="ticket.commented").latest("pk")
    tell(event)
    tell(event)
    go()
    deliver_due()
    assert len(smtp.got) == 1


def test_person_who_is_named_hears_of_it_though_muted(
    smtp: Server, ticket: Ticket, lead: User, triager: User, go: Go
) -> None:
    settled(ticket)
    watching.unwatch(ticket=ticket, by=lead)
    comment(ticket=ticket, body="Not for the lead.", by=triager)
    comment(ticket=ticket, body="@lead, please look.", by=triager)
    go()
    (mail,) = smtp.to("lead@example.org")
    assert "please look" in mail.text
    assert "Not for the lead" not in mail.text


def test_preferences_are_kept_to(smtp: Server, ticket: Ticket, member: User, triager: User, go: Go) -> None:
    settled(ticket)
    choose(choices={("talk", "mail"): "off", ("talk", "inbox"): "off"}, by=member)
    comment(ticket=ticket, body="One.", by=triager)
    go()
    assert smtp.got == []
    assert not Notification.objects.filter(recipient=member, topic=Topic.TALK).exists()


def test_digest_comes_once_a_day_with_everything_and_without_what_was_read(
    smtp: Server, ticket: Ticket, blocked: Ticket, member: User, triager: User, later: Any
) -> None:
    settled(ticket)
    choose(choices={("talk", "mail"): "digest"}, hour=7, by=member)
    read = comment(ticket=ticket, body="Read already.", by=triager)
    comment(ticket=ticket, body="One.", by=triager)
    comment(ticket=blocked, body="Two.", by=triager)
    deliver_all()
    later(minutes=5)
    deliver_due()
    assert smtp.got == []
    Notification.objects.filter(recipient=member, comment=read, channel="inbox").update(read_at=read.at)
    later(hours=25)
    deliver_due()
    (mail,) = smtp.to("member@example.org")
    assert ticket.ref in mail.text
    assert blocked.ref in mail.text
    assert "Read already." not in mail.text
    later(hours=24)
    deliver_due()
    assert len(smtp.to("member@example.org")) == 1  # nothing to say, no mail


def test_nothing_is_lost_without_a_mail_server(settings: Any, ticket: Ticket, triager: User, go: Go) -> None:
    settings.MAIL_URL = None
    settled(ticket)
    comment(ticket=ticket, body="One.", by=triager)
    go()
    assert Notification.objects.filter(channel="mail", status="pending").exists()
    assert Notification.objects.filter(channel="inbox", status="sent").exists()


def test_mail_that_fails_is_tried_again_later(
    smtp: Server, ticket: Ticket, triager: User, go: Go, later: Any
) -> None:
    settled(ticket)
    smtp.fails = 1
    comment(ticket=ticket, body="One.", by=triager)
    go()
    assert smtp.got == []
    waiting = Notification.objects.get(channel="mail", kind="ticket.commented", recipient__username="member")
    assert waiting.status == "pending"
    assert waiting.last_error
    deliver_due()
    assert smtp.got == []
    later(seconds=60)
    deliver_due()
    assert len(smtp.got) == 1


def test_mail_that_fails_for_ever_is_given_up_told_to_admins_and_can_be_tried_again(
    smtp: Server, ticket: Ticket, triager: User, admin_user: User, go: Go, later: Any
) -> None:
    settled(ticket)
    smtp.fails = 10**6
    comment(ticket=ticket, body="One.", by=triager)
    go()
    for _ in range(12):
        later(hours=7)
        deliver_due()
    dead = Notification.objects.get(channel="mail", kind="ticket.commented", recipient__username="member")
    assert dead.status == "dead"
    deliver_all()
    assert Notification.objects.filter(recipient=admin_user, kind="notify.message_dead").exists()
    smtp.fails = 0
    retry(message=dead, by=admin_user)
    deliver_due()
    assert len(smtp.to("member@example.org")) == 1


def test_address_that_is_refused_is_mailed_no_more(
    smtp: Server, ticket: Ticket, member: User, triager: User, admin_user: User, go: Go
) -> None:
    settled(ticket)
    smtp.refuses = {"member@example.org"}
    comment(ticket=ticket, body="One.", by=triager)
    go()
    assert Bouncing.objects.get().user == member
    smtp.refuses = set()
    comment(ticket=ticket, body="Two.", by=triager)
    go()
    assert smtp.to("member@example.org") == []
    assert Notification.objects.filter(recipient=admin_user, kind="notify.address_bounced").exists()


def test_sender_that_died_sends_again_under_the_same_name(
    smtp: Server, ticket: Ticket, triager: User, go: Go, later: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(ticket)
    comment(ticket=ticket, body="One.", by=triager)
    real = outgoing.send

    def dies(*args: Any, **kwargs: Any) -> None:
        real(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(sending.outgoing, "send", dies)
    with pytest.raises(KeyboardInterrupt):
        go()
    monkeypatch.setattr(sending.outgoing, "send", real)
    deliver_due()
    assert len(smtp.got) == 1
    later(minutes=6)
    deliver_due()
    first, again = smtp.got
    assert first.mail["Message-ID"] == again.mail["Message-ID"]


def test_what_is_too_old_to_be_news_is_not_mailed(
    smtp: Server, settings: Any, ticket: Ticket, triager: User, go: Go, later: Any
) -> None:
    settings.MAIL_URL = None
    settled(ticket)
    comment(ticket=ticket, body="One.", by=triager)
    go()
    later(days=4)
    settings.MAIL_URL = smtp.url
    deliver_due()
    assert smtp.got == []
    assert Notification.objects.filter(status="dropped", last_error__contains="too old").exists()


def test_owner_of_a_leaked_token_is_told_whatever_they_chose(
    smtp: Server, ticket: Ticket, member: User, lead: User, go: Go
) -> None:
    settled(ticket)
    _, raw = issue_token(name="ci", scopes=["requests:read"], by=lead)
    comment(ticket=ticket, body=f"Use {raw}", by=member)
    go()
    (mail,) = smtp.to("lead@example.org")
    assert "revoked" in mail.text
    assert raw not in mail.text


def test_desk_hears_of_an_answer_and_the_writer_does_not(
    smtp: Server, waiting: Ticket, member: User, lead: User, triager: User, go: Go
) -> None:
    settled(waiting)
    watching.watch(ticket=waiting, by=lead)
    go()
    smtp.got.clear()
    fresh = Ticket.objects.get(pk=waiting.pk)
    answer_ticket(ticket=fresh, version=fresh.version, answer="nas-1", by=member)
    go()
    assert sorted(each.recipients[0] for each in smtp.got) == ["lead@example.org", "triager@example.org"]


def test_stranger_who_watched_before_leaving_hears_nothing(
    smtp: Server, ticket: Ticket, other_team: Team, stranger: User, triager: User, go: Go
) -> None:
    settled(ticket)
    stranger.email = "stranger@example.org"
    stranger.save()
    Membership.objects.create(user=stranger, team=ticket.team)
    watching.watch(ticket=ticket, by=stranger)
    Membership.objects.filter(user=stranger, team=ticket.team).delete()
    comment(ticket=ticket, body="One.", by=triager)
    go()
    assert smtp.to("stranger@example.org") == []
    assert not Notification.objects.filter(recipient=stranger).exists()


def test_operators_hear_of_a_job_that_is_paused_and_its_mail_leads_to_it(
    smtp: Server, operator: User, triager: User, member: User, go: Go
) -> None:
    record(
        "job.paused",
        subject="J-7",
        payload={"playbook": "maintain", "now": "Wave 2 of 3: 2 failed."},
        by=None,
    )
    go()
    (mail,) = smtp.got
    assert mail.recipients == [operator.email]
    assert "J-7 (maintain) is paused" in str(mail.mail["Subject"])
    assert "Wave 2 of 3: 2 failed." in mail.text
    assert "/jobs/J-7/" in mail.text


def test_every_kind_has_words() -> None:
    from requests_app.tickets.sentences import say

    silent = [
        name
        for name in KINDS
        if name not in OWN_SENTENCES
        and name.startswith(("ticket.", "workaround.", "block."))
        and say(name, {}).title == name.replace(".", " ").replace("_", " ").capitalize()
        and name not in ("ticket.commented", "ticket.comment_edited", "block.ended")
    ]
    assert silent == []


def test_refused_tls_is_no_plain_mail() -> None:
    assert outgoing.read_post("smtp://mail.example.org", "a@b.example").tls == "starttls"
    assert outgoing.read_post("smtps://mail.example.org", "a@b.example").port == 465
    assert outgoing.read_post("smtp://u%40x:p%3A@127.0.0.1:25", "a@b.example").user == "u@x"
    with pytest.raises(ValueError, match="smtp"):
        outgoing.read_post("http://mail.example.org", "a@b.example")
    assert smtplib.SMTP_PORT == 25
