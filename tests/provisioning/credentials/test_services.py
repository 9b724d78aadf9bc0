"""Values go in by operators alone, are sealed, scoped and sealed anew, and never come out but into a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from portal.accounts.models import User
from portal.config import config
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.models import Event
from provisioning.credentials import services
from provisioning.credentials.handing import hand_over, in_scope
from provisioning.credentials.models import Credential
from provisioning.fleet.models import Node
from provisioning.jobs import workspace
from provisioning.jobs.workspace import Workspace
from tests.provisioning.credentials.conftest import a_key

pytestmark = pytest.mark.django_db
Keep = Callable[..., Credential]


@pytest.fixture
def space(tmp_path: Path) -> Any:
    made = workspace.create(tmp_path, "j1-1-0123abcd", owner="test")
    yield made
    made.remove()
    assert not made.secrets.exists()


def with_keys(monkeypatch: pytest.MonkeyPatch, *keys: str) -> None:
    told = replace(config(), credential_keys=keys)
    monkeypatch.setattr(services, "config", lambda: told)


def test_value_lies_sealed_and_nowhere_else(keep: Keep) -> None:
    credential = keep()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c::text FROM provisioning_credential c UNION ALL SELECT e::text FROM portal_event e"
        )
        assert "hunter2" not in str(cursor.fetchall())
    assert services.value_of(credential) == "hunter2-hunter2"
    assert Event.objects.filter(name="credential.set").exists()


def test_setting_it_again_replaces_value_and_scope(keep: Keep, make_nodes: Callable[..., list[Node]]) -> None:
    (node,) = make_nodes(1)
    keep(nodes=[node.name])
    keep(value="another-value", playbooks=["wipe_node"])
    (credential,) = Credential.objects.all()
    assert services.value_of(credential) == "another-value"
    assert (credential.playbooks, credential.nodes.count()) == (["wipe_node"], 0)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"name": "Not a name"}, "name"),
        ({"kind": "odd"}, "kind"),
        ({"value": "short"}, "value"),
        ({"value": "two\nlines of it"}, "value"),
        ({"kind": "ssh_key", "value": "no key at all"}, "value"),
        ({"kind": "environment", "variable": "LD_PRELOAD"}, "variable"),
        ({"kind": "environment", "variable": "PATH"}, "variable"),
        ({"kind": "environment", "variable": "ANSIBLE_CONFIG"}, "variable"),
        ({"kind": "variable", "variable": "ansible_host"}, "variable"),
        ({"kind": "variable", "variable": ""}, "variable"),
        ({"kind": "become", "variable": "x"}, "variable"),
        ({"playbooks": ["nonsense"]}, "playbooks"),
        ({"nodes": ["nobody"]}, "nodes"),
    ],
)
def test_what_can_not_be_a_credential_is_refused_by_field(
    told: dict[str, Any], field: str, keep: Keep
) -> None:
    with pytest.raises(Invalid) as refused:
        keep(**told)
    assert list(refused.value.fields) == [field]
    assert not Credential.objects.exists()


@pytest.mark.parametrize("who", ["member", "triager"])
def test_only_operators_may(who: str, keep: Keep, request: pytest.FixtureRequest) -> None:
    person: User = request.getfixturevalue(who)
    credential = keep()
    with pytest.raises(NotAllowed):
        services.set_credential(name="mine", kind="become", value="hunter2-hunter2", by=person)
    with pytest.raises(NotAllowed):
        services.remove_credential(credential, by=person)
    assert not Credential.objects.visible_to(person).exists()  # type: ignore[attr-defined]


def test_keys_are_changed_by_sealing_anew(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    with_keys(monkeypatch, "old key of the house")
    credential = keep()
    with_keys(monkeypatch, "new key of the house", "old key of the house")
    out = StringIO()
    call_command("rotate_secrets", stdout=out)
    assert "1 credential sealed anew" in out.getvalue()
    assert services.seal_anew(by=None) == 0
    with_keys(monkeypatch, "new key of the house")
    credential.refresh_from_db()
    assert services.value_of(credential) == "hunter2-hunter2"


def test_key_that_is_gone_changes_nothing_and_says_so(
    keep: Keep, monkeypatch: pytest.MonkeyPatch, space: Workspace
) -> None:
    with_keys(monkeypatch, "old key of the house")
    sealed = keep().sealed
    with_keys(monkeypatch, "new key of the house")
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("rotate_secrets")
    assert Credential.objects.get().sealed == sealed
    with pytest.raises(Refused, match="can't be opened"):
        hand_over(space, playbook="wipe_node", nodes=[])


def test_scope_is_the_playbook_and_all_of_the_jobs_nodes(
    keep: Keep, make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    keep("wide", kind="vault")
    keep("wipes", kind="vault", playbooks=["wipe_node"])
    keep("one-node", kind="vault", nodes=[first.name])

    def names(playbook: str, *nodes: Node) -> list[str]:
        return sorted(each.name for each in in_scope(playbook=playbook, nodes=[node.pk for node in nodes]))

    assert names("wipe_node", first) == ["one-node", "wide", "wipes"]
    assert names("drain_node", first) == ["one-node", "wide"]
    assert names("drain_node", first, second) == ["wide"]


def test_narrowest_key_is_used_and_two_alike_are_refused(
    keep: Keep, make_nodes: Callable[..., list[Node]]
) -> None:
    (node,) = make_nodes(1)
    keep("wide", kind="ssh_key", value=a_key())
    keep("narrow", kind="ssh_key", value=a_key(), nodes=[node.name])
    assert [each.name for each in in_scope(playbook="x", nodes=[node.pk])] == ["narrow"]
    keep("rival", kind="ssh_key", value=a_key(), nodes=[node.name])
    with pytest.raises(Refused, match="narrow and rival both fit"):
        in_scope(playbook="x", nodes=[node.pk])


def test_files_are_the_owners_alone_and_no_value_is_among_the_words(keep: Keep, space: Workspace) -> None:
    keep("root", kind="become", value="become-become")
    keep("vaulted", kind="vault", value="open-sesame")
    keep("token", kind="environment", variable="API_TOKEN", value="token-token")
    keep("seed", kind="variable", variable="seed", value="{{ seed }}-seed")
    key = a_key()
    keep("door", kind="ssh_key", value=key)
    handed = hand_over(space, playbook="wipe_node", nodes=[])
    assert handed.key_file is not None
    assert handed.key_file.read_text() == key.strip() + "\n"
    files = [path for path in space.secrets.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert space.secrets.stat().st_mode & 0o777 == 0o700
    for value in ("become-become", "open-sesame", "token-token", "-seed"):
        assert value not in str(handed.spec)
        assert not any(value in path.read_text() for path in space.folder.rglob("*") if path.is_file())
    assert Credential.objects.filter(used_at=None).count() == 0


def test_job_without_credentials_gets_nothing(space: Workspace) -> None:
    assert hand_over(space, playbook="wipe_node", nodes=[]).spec == {}
    assert not space.secrets.exists()
    assert settings.SECRET_KEY not in str(services.all_values())
