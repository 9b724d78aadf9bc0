"""Does the doctor say what is wrong with the mail?"""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config import Config
from portal.doctor import mail
from portal.doctor.checks import Answer, Context, Level
from tests.portal.notify.smtp_server import smtp_server

pytestmark = pytest.mark.django_db


def asked(**settings: object) -> tuple[Answer, Answer]:
    context = Context(Config(**settings))  # type: ignore[arg-type]
    return mail.mail_out(context), mail.mail_in(context)


def test_nothing_configured_is_fine() -> None:
    assert [answer.level for answer in asked()] == [Level.OK, Level.OK]


def test_server_that_answers_is_fine_and_localhost_is_said() -> None:
    with smtp_server() as server:
        out, _ = asked(mail_url=server.url, mail_from="qm@portal.example")
        assert out.level is Level.OK
        assert asked(mail_url=server.url)[0].level is Level.WARN


@pytest.mark.parametrize("url", ["smtp://127.0.0.1:1", "http://x", "smtp://"])
def test_server_that_does_not_is_wrong(url: str) -> None:
    assert asked(mail_url=url)[0].level is Level.WRONG


def test_password_is_not_said() -> None:
    out, _ = asked(mail_url="smtp://user:hunter2@127.0.0.1:1")
    assert "hunter2" not in out.says + out.mend


def test_mailbox_has_to_be_one(tmp_path: Path) -> None:
    assert asked(mail_in_url=f"maildir:{tmp_path}")[1].level is Level.WRONG
    assert asked(mail_in_url="pop3://x")[1].level is Level.WRONG
    assert asked(mail_in_url="imaps://u:p@mail.example.org/INBOX")[1].level is Level.OK
    for name in ("cur", "new", "tmp"):
        (tmp_path / name).mkdir()
    assert asked(mail_in_url=f"maildir:{tmp_path}")[1].level is Level.OK
