"""What a mail says: its new words alone, whoever's program wrote it, in any charset, and never an exception."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.notify.inbound.quotes import html_words, new_text
from portal.notify.inbound.reading import MOST_BYTES, read
from portal.notify.letters import CUT_HERE
from tests.portal.notify.mails import a_bounce, a_mail

QUOTED = "> We have four nodes.\n> More on Monday."


@pytest.mark.parametrize(
    "mail",
    [
        f"Take them.\n\nOn Mon, 30 Nov 2026 at 10:00, Desk <qm@portal.example> wrote:\n{QUOTED}",
        f"Take them.\n\nOn Mon, 30 Nov 2026 at 10:00, Quartermaster\n<qm@portal.example> wrote:\n\n{QUOTED}",
        f"Take them.\n\nAm Mo., 30. Nov. 2026 um 10:00 Uhr schrieb Desk <qm@portal.example>:\n{QUOTED}",
        f"Take them.\n\nLe lun. 30 nov. 2026 à 10:00, Desk a écrit :\n{QUOTED}",
        f"Take them.\n\n{CUT_HERE}\n\n* Desk wrote a comment\nWe have four nodes.",
        f"Take them.\n\n> {CUT_HERE}\n> \n{QUOTED}",
        "Take them.\n\n-----Original Message-----\nFrom: Desk\nWe have four nodes.",
        "Take them.\n\n________________________________\nFrom: Desk\nSent: Monday\nTo: Member\nSubject: x\n\nFour.",
        "Take them.\n\nFrom: Desk\nSent: Monday\nTo: Member\nSubject: Nodes\n\nWe have four nodes.",
        f"{QUOTED}\n\nTake them.",
        "Take them.\n-- \nMember of the vision team\n+1 555 0100",
        "Take them.\r\n\r\n\r\n\r\n",
    ],
)
def test_only_new_words_count(mail: str) -> None:
    assert new_text(mail) == "Take them."


def test_answers_between_quotes_are_kept() -> None:
    assert new_text("> Four?\nYes.\n\n> When?\nMonday.") == "Yes.\n\nMonday."


def test_sentence_that_only_looks_like_an_attribution_stays() -> None:
    text = "On the second node somebody wrote: disk full.\nPlease look."
    assert new_text(text) == text


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>Take them.</p><blockquote>Four.</blockquote>", "Take them."),
        ('<div>Take them.</div><div class="gmail_quote">On Mon …<div>Four.</div></div>', "Take them."),
        ("<style>p{color:red}</style><p>Take<br>them.</p>", "Take\nthem."),
        ("<script>alert(1)</script>Take &amp; give.", "Take & give."),
        ('Take them.<div id="appendonsend"></div><hr><div>Four.</div>', "Take them."),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<blockquote><div>Four.</blockquote>Take them.", "Take them."),
        ("<b>Take", "Take"),
    ],
)
def test_html_becomes_its_new_words(html: str, words: str) -> None:
    assert html_words(html) == words


@given(st.text(max_size=500))
def test_any_text_and_any_html_can_be_read(text: str) -> None:
    assert isinstance(new_text(text), str)
    assert "<script" not in html_words("<p>" + text.replace("<", "") + "</p>")
    html_words(text)


@given(st.binary(max_size=600))
def test_any_bytes_can_be_read(raw: bytes) -> None:
    found = read(raw)
    assert "\x00" not in found.text + found.subject + found.message_id
    found.text.encode("utf-8")


@given(
    st.lists(
        st.sampled_from(
            [
                b"From: a@b",
                b"From: =?utf-8?b?!!!?= <x@y>",
                b"Content-Type: multipart/mixed; boundary=x",
                b"Content-Type: text/plain; charset=nonsense",
                b"Content-Type: text/html; charset=utf-16",
                b"Content-Transfer-Encoding: base64",
                b"Content-Disposition: attachment; filename*=utf-8''%ff",
                b"To: \xff\xfe <reply+aaa@x>",
                b"",
                b"--x",
                b"--x--",
                b"\xff\x00text",
                b"Message-ID: <a b>",
            ]
        ),
        max_size=25,
    )
)
def test_mails_of_broken_pieces_can_be_read(lines: list[bytes]) -> None:
    read(b"\r\n".join(lines))


@pytest.mark.parametrize(
    ("charset", "raw"),
    [("iso-8859-1", "Größe".encode("latin-1")), ("utf-8", "Größe".encode()), ("nonsense", "Größe".encode())],
)
def test_charset_trouble_loses_no_words(charset: str, raw: bytes) -> None:
    head = f"From: a@b.example\r\nContent-Type: text/plain; charset={charset}\r\n\r\n".encode()
    assert read(head + raw).text == "Größe"


def test_plain_words_win_over_html_and_files_come_along() -> None:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Member <Member@Example.org>", "x@y.example"
    mail.set_content("Plain.")
    mail.add_alternative("<p>Rich.</p>", subtype="html")
    mail.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="ö/../log.bin")
    found = read(mail.as_bytes())
    assert found.text == "Plain."
    assert found.senders == ("member@example.org",)
    assert [(part.name, part.content) for part in found.files] == [("ö/../log.bin", b"\x00\x01")]


def test_attached_text_is_a_file_and_no_words() -> None:
    mail = EmailMessage()
    mail.set_content("Words.")
    mail.add_attachment("not mine", filename="a.txt")
    assert read(mail.as_bytes()).text == "Words."


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"Auto_Submitted": "auto-replied"}, "Auto-Submitted"),
        ({"Auto_Submitted": "auto-generated; x=y"}, "Auto-Submitted"),
        ({"Precedence": "bulk"}, "Precedence"),
        ({"X_Autoreply": "yes"}, "X-Autoreply"),
        ({"Return_Path": "<>"}, "null sender"),
        ({"Subject": "Automatic reply: Nodes"}, "out of office"),
        ({"Subject": "Abwesenheitsnotiz: Nodes"}, "out of office"),
        ({"Auto_Submitted": "no"}, ""),
        ({}, ""),
    ],
)
def test_machines_are_told_from_people(headers: dict[str, str], why: str) -> None:
    assert read(a_mail("a@b.example", "x@y.example", "Hi.", **headers)).automatic == why


def test_delivery_report_says_who_and_whether_it_lasts() -> None:
    found = read(a_bounce("bounce+x@portal.example", "Gone@example.org")).bounce
    assert found is not None
    assert (found.recipient, found.status, found.lasting) == ("gone@example.org", "5.1.1", True)
    late = read(a_bounce("x@y.example", "a@b.example", status="4.2.2", action="delayed")).bounce
    assert late is not None
    assert not late.lasting


def test_same_mail_has_the_same_key_and_another_one_has_not() -> None:
    one = a_mail("a@b.example", "x@y.example", "Hi.", Message_ID="<1@x>")
    moved = b"Received: from elsewhere\r\n" + one
    assert read(one).key == read(moved).key
    assert read(a_mail("a@b.example", "x@y.example", "Hi.", Message_ID="<2@x>")).key != read(one).key


def test_mail_that_is_too_big_is_not_read() -> None:
    assert read(b"x" * (MOST_BYTES + 1)).damage == "it is too big"


def test_parts_in_parts_in_parts_end() -> None:
    raw = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3000)
    )
    assert read(raw).text == ""
