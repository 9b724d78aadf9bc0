"""What do the services of people, teams and tokens allow, refuse and record?"""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from portal.accounts import events, services
from portal.accounts.models import ApiToken, Membership, Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from portal.ledger.models import Event
from tests.personas import a_user


def recorded(name: str) -> list[dict[str, object]]:
    """Payloads of the events of this name, oldest first."""
    return list(Event.objects.filter(name=name).order_by("id").values_list("payload", flat=True))


class TestTeams:
    def test_admin_creates_a_team(self, admin_user: User) -> None:
        team = services.create_team(slug="robotics", name="Robotics", by=admin_user)
        assert Team.objects.get(slug="robotics") == team
        assert recorded(events.TEAM_CREATED) == [{"name": "Robotics"}]

    def test_triager_creates_no_team(self, triager: User) -> None:
        with pytest.raises(NotAllowed):
            services.create_team(slug="robotics", name="Robotics", by=triager)

    def test_team_is_not_created_twice(self, team: Team) -> None:
        with pytest.raises(Conflict):
            services.create_team(slug=team.slug, name="Again", by=None)

    @pytest.mark.parametrize("slug", ["Vision", "1st", "a b", "vision\n", "", "x" * 32, "{{x}}"])
    def test_slug_is_plain(self, db: None, slug: str) -> None:
        with pytest.raises(Invalid) as refused:
            services.create_team(slug=slug, name="Vision", by=None)
        assert "slug" in refused.value.fields

    def test_lead_takes_a_person_in(self, team: Team, lead: User, stranger: User) -> None:
        services.set_member(team=team, username="stranger", by=lead)
        assert stranger.belongs_to(team)
        assert recorded(events.MEMBER_ADDED) == [{"person": "stranger", "role": "member"}]

    def test_taking_in_twice_changes_nothing(self, team: Team, lead: User, member: User) -> None:
        services.set_member(team=team, username=member.username, by=lead)
        assert Membership.objects.filter(team=team, user=member).count() == 1
        assert recorded(events.MEMBER_ADDED) == []

    def test_member_takes_nobody_in(self, team: Team, member: User, stranger: User) -> None:
        with pytest.raises(NotAllowed):
            services.set_member(team=team, username=stranger.username, by=member)

    def test_lead_of_another_team_takes_nobody_in(self, team: Team, other_team: Team) -> None:
        other_lead = a_user(team=other_team, role="lead")
        with pytest.raises(NotAllowed):
            services.set_member(team=team, username=other_lead.username, by=other_lead)

    @pytest.mark.parametrize("username", ["nobody", "", "a\x00b"])
    def test_unknown_person_is_said_by_field(self, team: Team, lead: User, username: str) -> None:
        with pytest.raises(Invalid) as refused:
            services.set_member(team=team, username=username, by=lead)
        assert list(refused.value.fields) == ["username"]

    def test_lead_makes_a_member_a_lead(self, team: Team, lead: User, member: User) -> None:
        services.set_member(team=team, username=member.username, role="lead", by=lead)
        assert member.leads(team)
        assert recorded(events.MEMBER_CHANGED) == [{"person": "member", "role": "lead"}]

    def test_last_lead_can_not_be_removed(self, team: Team, lead: User) -> None:
        with pytest.raises(Refused) as refused:
            services.remove_member(team=team, username=lead.username, by=lead)
        assert refused.value.code == "last-lead"
        assert refused.value.data["nearest_yes"]

    def test_last_lead_can_not_become_a_member(self, team: Team, lead: User, admin_user: User) -> None:
        with pytest.raises(Refused):
            services.set_member(team=team, username=lead.username, role="member", by=admin_user)

    def test_lead_goes_when_another_leads(self, team: Team, lead: User, member: User) -> None:
        services.set_member(team=team, username=member.username, role="lead", by=lead)
        services.remove_member(team=team, username=lead.username, by=lead)
        assert not lead.belongs_to(team)

    def test_member_may_leave(self, team: Team, lead: User, member: User) -> None:
        services.remove_member(team=team, username=member.username, by=member)
        assert not member.belongs_to(team)
        assert recorded(events.MEMBER_REMOVED) == [{"person": "member", "role": "member"}]

    def test_member_removes_nobody_else(self, team: Team, lead: User, member: User) -> None:
        with pytest.raises(NotAllowed):
            services.remove_member(team=team, username=lead.username, by=member)

    def test_removing_who_is_not_there_is_said(self, team: Team, lead: User) -> None:
        with pytest.raises(NotFound):
            services.remove_member(team=team, username="stranger", by=lead)


class TestProfile:
    def test_person_keeps_what_they_say(self, member: User) -> None:
        key = (
            Ed25519PrivateKey.generate()
            .public_key()
            .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
            .decode()
        )
        services.save_profile(
            full_name="  Data   Person ",
            time_zone="Europe/Zurich",
            ssh_public_keys=f"# x\n{key} laptop\n",
            by=member,
        )
        member.refresh_from_db()
        assert member.get_full_name() == "Data Person"
        assert member.ssh_public_keys == f"{key} laptop"
        assert recorded(events.PROFILE_CHANGED) == [
            {"fields": ["first_name", "last_name", "ssh_public_keys", "time_zone"]}
        ]

    def test_saying_the_same_again_records_nothing(self, member: User) -> None:
        services.save_profile(full_name="", time_zone="", ssh_public_keys="", by=member)
        assert recorded(events.PROFILE_CHANGED) == []

    def test_all_wrong_fields_are_told_together(self, member: User) -> None:
        with pytest.raises(Invalid) as refused:
            services.save_profile(
                full_name="a\u202eb", time_zone="Mars/Olympus", ssh_public_keys="hello", by=member
            )
        assert set(refused.value.fields) == {"full_name", "time_zone", "ssh_public_keys"}


class TestTokens:
    def test_token_is_kept_as_a_hash_only(self, member: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        row = ApiToken.objects.get(pk=token.pk)
        assert text not in str(vars(row))
        assert row.secret_hash not in text
        assert text not in str(recorded(events.TOKEN_ISSUED))

    def test_token_signs_for_its_person(self, member: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        found = services.token_user(text)
        assert found is not None
        assert (found[0], found[1].pk, found[1].scopes) == (member, token.pk, ["requests:read"])

    def test_token_with_another_secret_does_not_sign(self, member: User) -> None:
        from portal.accounts.tokens import TokenText, make_token

        token, _ = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        assert services.token_user(TokenText(token.public_id, make_token().secret).text) is None

    def test_unknown_token_does_not_sign(self, db: None) -> None:
        from portal.accounts.tokens import make_token

        assert services.token_user(make_token().text) is None

    def test_expired_token_does_not_sign(self, member: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], days=1, by=member)
        ApiToken.objects.filter(pk=token.pk).update(expires_at=now() - timedelta(seconds=1))
        assert services.token_user(text) is None

    def test_revoked_token_does_not_sign(self, member: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        services.revoke_token(public_id=token.public_id, by=member)
        assert services.token_user(text) is None
        assert len(recorded(events.TOKEN_REVOKED)) == 1

    def test_token_of_who_is_gone_does_not_sign(self, member: User) -> None:
        _, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        User.objects.filter(pk=member.pk).update(is_active=False)
        assert services.token_user(text) is None

    def test_token_loses_what_its_person_lost(self, triager: User) -> None:
        _, text = services.issue_token(name="desk", scopes=["requests:read", "triage:write"], by=triager)
        User.objects.filter(pk=triager.pk).update(staff_role="")
        found = services.token_user(text)
        assert found is not None
        assert found[1].scopes == ["requests:read"]

    def test_use_is_noted_once_a_minute(self, member: User, django_assert_num_queries: object) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        services.token_user(text)
        token.refresh_from_db()
        assert token.last_used_at is not None
        with django_assert_num_queries(1):
            services.token_user(text)

    @pytest.mark.parametrize(
        "scope", ["triage:write", "quota:grant", "provision:execute", "admin:all", "made:up"]
    )
    def test_member_gives_no_more_than_they_may(self, member: User, scope: str) -> None:
        with pytest.raises(Invalid) as refused:
            services.issue_token(name="launcher", scopes=["requests:read", scope], by=member)
        assert list(refused.value.fields) == ["scopes"]

    @pytest.mark.parametrize("days", [0, -1, 366])
    def test_token_ends_within_a_year(self, member: User, days: int) -> None:
        with pytest.raises(Invalid) as refused:
            services.issue_token(name="launcher", scopes=["requests:read"], days=days, by=member)
        assert list(refused.value.fields) == ["days"]

    def test_usual_token_ends_after_ninety_days(self, member: User) -> None:
        token, _ = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        assert token.expires_at - now() == pytest.approx(timedelta(days=90), abs=timedelta(minutes=1))

    def test_name_is_used_once_while_it_lives(self, member: User) -> None:
        token, _ = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        with pytest.raises(Invalid):
            services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        services.revoke_token(public_id=token.public_id, by=member)
        services.issue_token(name="launcher", scopes=["requests:read"], by=member)

    def test_nobody_revokes_a_stranger_s_token(self, member: User, stranger: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        with pytest.raises(NotFound):
            services.revoke_token(public_id=token.public_id, by=stranger)
        assert services.token_user(text) is not None

    def test_admin_revokes_anybody_s_token(self, member: User, admin_user: User) -> None:
        token, text = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        services.revoke_token(public_id=token.public_id, by=admin_user)
        assert services.token_user(text) is None

    def test_revoking_twice_records_once(self, member: User) -> None:
        token, _ = services.issue_token(name="launcher", scopes=["requests:read"], by=member)
        services.revoke_token(public_id=token.public_id, by=member)
        services.revoke_token(public_id=token.public_id, by=member)
        assert len(recorded(events.TOKEN_REVOKED)) == 1
