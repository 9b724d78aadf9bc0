"""A workaround warns, then takes itself back, also after days in which nobody looked; what can't be taken back is said loudly."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, IllegalMove, Invalid, NotAllowed
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from portal.notify.models import Notification
from requests_app.quotas.services import end_due_boosts, room_for
from requests_app.tickets.models import Ticket
from requests_app.workarounds import carrying_out, services
from requests_app.workarounds.expiry import sweep
from requests_app.workarounds.models import Renewal, Workaround
from requests_app.workarounds.renewing import renew_workaround
from requests_app.workarounds.replacing import move_replacement
from tests.builders import H100
from tests.requests_app.workarounds.builders import Calendar, a_quota_workaround, a_workaround

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(calendar: Calendar, ticket: Ticket, triager: User) -> Workaround:
    """Sixteen GPUs more for twenty days, from the calendar's today."""
    return a_quota_workaround(ticket, triager)


def warnings() -> list[int]:
    told = Event.objects.filter(name="workaround.expiring").order_by("id")
    return [event.payload["days"] for event in told]


def test_each_step_is_said_once_and_then_it_ends_by_itself(
    calendar: Calendar, running: Workaround, desk: Team
) -> None:
    for _ in range(24):
        calendar.go_on(hours=23)
        sweep()
        sweep()
    assert warnings() == [14, 7, 3, 1]
    running.refresh_from_db()
    assert (running.status, running.ended_why) == ("ended", "expired")
    assert room_for(desk, H100).limit == 64
    assert Event.objects.filter(name="workaround.ended").count() == 1


def test_three_days_without_a_beat_over_the_end_lose_no_step_and_double_none(
    calendar: Calendar, running: Workaround, desk: Team
) -> None:
    calendar.go_on(days=17, hours=1)
    sweep()
    assert warnings() == [14, 7, 3]
    calendar.go_on(days=3, hours=2)
    sweep()
    sweep()
    assert warnings() == [14, 7, 3, 1]
    running.refresh_from_db()
    assert running.status == "ended"
    assert Event.objects.filter(name="workaround.ended").count() == 1
    assert room_for(desk, H100).limit == 64


def test_quota_that_ended_by_its_own_clock_first_does_no_harm(
    calendar: Calendar, running: Workaround, desk: Team
) -> None:
    calendar.go_on(days=21)
    assert end_due_boosts() == 1
    sweep()
    running.refresh_from_db()
    assert (running.status, room_for(desk, H100).limit) == ("ended", 64)


def test_step_by_hand_asks_its_owner_and_stays_owed_until_it_is_said_to_be_gone(
    calendar: Calendar, ticket: Ticket, triager: User
) -> None:
    row = a_workaround(ticket, triager)
    row = services.mark_applied(workaround=row, version=row.version, by=triager)
    calendar.go_on(days=21)
    sweep()
    row.refresh_from_db()
    assert (row.status, row.is_overdue) == ("reverting", True)
    told = Event.objects.get(name="workaround.reverting").payload
    assert (told["owner"], told["task"]) == (triager.pk, row.params["steps"])
    done = services.mark_reverted(
        workaround=row, version=row.version, note="Jobs use the new share.", by=triager
    )
    assert done.status == "ended"


def test_step_by_hand_that_nobody_took_just_ends(calendar: Calendar, ticket: Ticket, triager: User) -> None:
    row = a_workaround(ticket, triager)
    calendar.go_on(days=21)
    sweep()
    row.refresh_from_db()
    assert (row.status, row.ended_why) == ("ended", "never")


def test_what_can_t_be_taken_back_is_stuck_and_said_loudly(
    calendar: Calendar, running: Workaround, monkeypatch: pytest.MonkeyPatch, triager: User, desk: Team
) -> None:
    def refuse(*_: object) -> bool:
        raise Conflict("The quota is being counted.")

    monkeypatch.setitem(carrying_out._TAKE_BACK, "quota", refuse)
    calendar.go_on(days=21)
    sweep()
    running.refresh_from_db()
    assert (running.status, running.trouble) == ("stuck", "The quota is being counted.")
    assert running.is_open
    assert Event.objects.filter(name="workaround.stuck").count() == 1
    calendar.go_on(minutes=11)
    sweep()
    assert Event.objects.filter(name="workaround.stuck").count() == 1, "the same reason is said once"
    monkeypatch.undo()
    running.refresh_from_db()
    services.try_again(workaround=running, version=running.version, by=triager)
    running.refresh_from_db()
    assert (running.status, running.ended_why) == ("ended", "expired")


def test_one_that_can_t_go_on_keeps_no_other_from_it(
    calendar: Calendar, running: Workaround, ticket: Ticket, triager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = a_quota_workaround(ticket, triager, tag="another")
    real = carrying_out.take_back

    def fails_once(row: Workaround, **more: object) -> None:
        if row.pk == running.pk:
            raise RuntimeError("bug")
        real(row, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(carrying_out, "take_back", fails_once)
    calendar.go_on(days=21)
    sweep()
    other.refresh_from_db()
    running.refresh_from_db()
    assert (running.status, other.status) == ("active", "ended")


def test_finished_project_takes_its_workarounds_back(
    calendar: Calendar, running: Workaround, triager: User, desk: Team
) -> None:
    project = running.replacement
    assert project is not None
    project = move_replacement(replacement=project, version=1, action="start", by=triager)
    move_replacement(replacement=project, version=2, action="finish", by=triager)
    sweep()
    running.refresh_from_db()
    assert (running.status, running.ended_why) == ("ended", "replaced")
    assert room_for(desk, H100).limit == 64


# Renewal


def test_early_renewal_counts_from_the_end(
    calendar: Calendar, running: Workaround, admin_user: User, desk: Team
) -> None:
    was = running.expires_at
    done = renew_workaround(workaround=running, version=running.version, days=30, key="a", by=admin_user)
    assert done.expires_at == was + timedelta(days=30)
    assert done.approved_by == admin_user
    calendar.go_on(days=21)
    end_due_boosts()
    sweep()
    assert room_for(desk, H100).limit == 80, "the lent quota lasts as long"
    calendar.go_on(days=30)
    sweep()
    assert room_for(desk, H100).limit == 64


def test_renewal_five_days_late_counts_from_now(
    calendar: Calendar, running: Workaround, admin_user: User, desk: Team
) -> None:
    calendar.go_on(days=25)
    end_due_boosts()
    done = renew_workaround(workaround=running, version=running.version, days=30, key="a", by=admin_user)
    assert done.expires_at == calendar.at + timedelta(days=30)
    assert room_for(desk, H100).limit == 80


def test_same_key_renews_once_and_other_days_with_it_are_refused(
    calendar: Calendar, running: Workaround, admin_user: User
) -> None:
    seen = running.version
    first = renew_workaround(workaround=running, version=seen, days=10, key="a", by=admin_user)
    again = renew_workaround(workaround=running, version=seen, days=10, key="a", by=admin_user)
    assert (again.expires_at, again.renewals) == (first.expires_at, 1)
    assert Renewal.objects.count() == 1
    with pytest.raises(Invalid):
        renew_workaround(workaround=running, version=first.version, days=11, key="a", by=admin_user)


def test_owner_renews_only_with_a_reason(calendar: Calendar, running: Workaround, triager: User) -> None:
    with pytest.raises(Invalid):
        renew_workaround(workaround=running, version=running.version, days=10, key="a", by=triager)
    renew_workaround(
        workaround=running, version=running.version, days=10, key="a", reason="One week more.", by=triager
    )


def test_team_asks_and_only_a_triager_approves(
    calendar: Calendar, running: Workaround, member: User, triager: User
) -> None:
    row = services.ask_renewal(
        workaround=running, version=running.version, days=10, reason="The share is late.", by=member
    )
    assert row.status == "renewal_asked"
    with pytest.raises(NotAllowed):
        renew_workaround(workaround=row, version=row.version, days=10, key="a", by=member)
    row = services.refuse_renewal(workaround=row, version=row.version, reason="It is not.", by=triager)
    assert (row.status, row.renewal_days) == ("active", None)


def test_unanswered_question_holds_no_end_back(calendar: Calendar, running: Workaround, member: User) -> None:
    services.ask_renewal(workaround=running, version=running.version, days=10, reason="Please.", by=member)
    calendar.go_on(days=21)
    sweep()
    running.refresh_from_db()
    assert running.status == "ended"


def test_renewal_warns_anew(calendar: Calendar, running: Workaround, admin_user: User) -> None:
    calendar.go_on(days=18)
    sweep()
    running.refresh_from_db()
    renew_workaround(workaround=running, version=running.version, days=20, key="a", by=admin_user)
    calendar.go_on(days=20)
    sweep()
    assert warnings() == [14, 7, 3, 14, 7, 3]


def test_what_has_ended_is_given_anew_and_not_renewed(
    calendar: Calendar, running: Workaround, admin_user: User
) -> None:
    calendar.go_on(days=21)
    sweep()
    running.refresh_from_db()
    with pytest.raises(IllegalMove):
        renew_workaround(workaround=running, version=running.version, days=10, key="a", by=admin_user)


def test_second_entry_of_a_week_corrects_the_first(
    calendar: Calendar, running: Workaround, triager: User, member: User
) -> None:
    for hours in (3, "1.5"):
        services.note_interest(workaround=running, day=calendar.at.date(), hours=hours, by=triager)
    assert [float(entry.hours) for entry in running.interest_entries.all()] == [1.5]
    with pytest.raises(NotAllowed):
        services.note_interest(workaround=running, day=calendar.at.date(), hours=1, by=member)
    with pytest.raises(Invalid):
        services.note_interest(
            workaround=running, day=calendar.at.date() + timedelta(days=8), hours=1, by=triager
        )


def test_warning_reaches_the_team_and_the_owner(
    calendar: Calendar, ticket: Ticket, triager: User, operator: User, member: User
) -> None:
    a_quota_workaround(ticket, triager, owner=operator)
    calendar.go_on(days=7)
    sweep()
    deliver_all()
    told = Notification.objects.filter(event__name="workaround.expiring", channel="inbox")
    assert {member.pk, operator.pk} <= set(told.values_list("recipient", flat=True))
