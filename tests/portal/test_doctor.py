"""Does the doctor find what is wrong, say it in plain words, and keep secrets to itself?"""

import dataclasses
import io
import json
import os
import resource
import socket
from collections import namedtuple
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from portal.config import Config, config
from portal.doctor import checks, machine, services, workers
from portal.doctor.checks import Answer, Context, Level, NotCheckedError
from portal.doctor.effective import effective, masked
from portal.embedded.folders import user_name
from portal.kernel import clock
from portal.management.commands import doctor
from provisioning.workers.services import beat
from tests.provisioning.builders import some_nodes

Usage = namedtuple("Usage", "total used free")
Runs = Callable[..., tuple[str, int]]


@pytest.fixture
def var_dir(tmp_path: Path) -> Path:
    (tmp_path / "var").mkdir(mode=0o700)
    return tmp_path / "var"


@pytest.fixture
def context(var_dir: Path) -> Context:
    return Context(Config(var_dir=var_dir))


@pytest.fixture
def run_doctor(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The command with these checks alone: what it prints and its exit code."""

    def run(*words: str, **found: checks.Check) -> tuple[str, int]:
        monkeypatch.setattr(checks, "CHECKS", found)
        out = io.StringIO()
        try:
            call_command("doctor", *words, stdout=out, no_color=True)
        except SystemExit as end:
            return out.getvalue(), int(str(end.code))
        return out.getvalue(), 0

    return run


def answers(answer: Answer) -> checks.Check:
    return lambda context: answer


def broken(context: Context) -> Answer:
    raise ZeroDivisionError("oops")


class TestCommand:
    def test_something_wrong_is_said_with_how_to_mend_it_and_exit_code_1(self, run_doctor: Runs) -> None:
        said, code = run_doctor(
            disk=answers(checks.wrong("no space", "Free some.")), ssh=answers(checks.ok("fine"))
        )

        assert code == 1
        assert "WRONG disk           no space" in said
        assert "-> Free some." in said
        assert "1 of 2 checks found something wrong." in said

    @pytest.mark.parametrize("answer", [checks.ok("x"), checks.warn("x", "y"), checks.skipped("x")])
    def test_nothing_wrong_is_exit_code_0(self, run_doctor: Runs, answer: Answer) -> None:
        said, code = run_doctor(disk=answers(answer))

        assert code == 0
        assert "Nothing is wrong." in said

    def test_a_check_that_breaks_is_wrong_and_does_not_hide_the_next(self, run_doctor: Runs) -> None:
        said, code = run_doctor(first=broken, second=answers(checks.ok("still here")))

        assert code == 1
        assert "ZeroDivisionError: oops" in said
        assert "still here" in said

    def test_json_holds_the_checks_and_the_settings(self, run_doctor: Runs) -> None:
        said, _ = run_doctor("--json", disk=answers(checks.warn("few", "more")))

        told = json.loads(said)
        assert told["checks"] == [{"name": "disk", "level": "warn", "says": "few", "mend": "more"}]
        assert "PORTAL_VAR_DIR" in {entry["variable"] for entry in told["settings"]}

    def test_every_variable_is_listed_with_its_meaning(self, run_doctor: Runs) -> None:
        said, _ = run_doctor("--variables")

        lines = said.strip().splitlines()
        expected = [entry for entry in dataclasses.fields(Config) if entry.metadata]
        assert len(lines) == len(expected)
        assert all(len(line.split(maxsplit=1)) == 2 for line in lines)

    @pytest.mark.django_db
    def test_the_real_checks_all_answer(self, run_doctor: Runs) -> None:
        assert doctor.LOADED
        real = dict(checks.CHECKS)

        said, _ = run_doctor("--json", **real)

        found = json.loads(said)["checks"]
        assert [entry["name"] for entry in found] == list(real)
        assert not [entry for entry in found if "itself failed" in entry["says"]]


class TestSecrets:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("postgres://me:s3cret@db:5432/qm", "postgres://me:****@db:5432/qm"),
            ("amqp://db//", "amqp://db//"),
            ("postgres://h/d?password=s3cret", "postgres://h/d?****"),
            ("s3cret", "****"),
            ("s3cret:with:colons", "****"),
            ("http://[broken", "****"),
        ],
    )
    def test_a_secret_shows_only_where_it_leads(self, text: str, expected: str) -> None:
        assert masked(text) == expected

    @given(st.text(alphabet="abcXYZ019%:@-_", min_size=8, max_size=30).map(lambda text: f"S3{text}S3"))
    def test_no_password_is_ever_shown(self, password: str) -> None:
        assert password not in masked(f"postgres://me:{password}@db/qm")

    def test_no_secret_setting_is_shown(self) -> None:
        chosen = Config(
            secret_key="s3cret", database_url="postgres://a:s3cret@h/d", broker_url="amqp://a:s3cret@h"
        )

        assert not [entry for entry in effective(chosen) if "s3cret" in entry.value]

    def test_what_was_set_is_told_from_defaults(self) -> None:
        found = {entry.variable: entry.is_default for entry in effective(Config(port=8001))}

        assert found["PORTAL_PORT"] is False
        assert found["PORTAL_HOST"] is True


class TestMachine:
    def test_pins_of_other_platforms_do_not_count(self) -> None:
        text = (
            "# comment\n--hash=sha256:1\ndjango==5.2.1 \\\n    --hash=sha256:ab \\\n    # via x\n"
            "pywin32==1 ; sys_platform == 'win32'\nredis[hiredis]==7.0 ; python_version >= '3'\n"
        )

        assert machine.pinned(text) == {"django": "5.2.1", "redis": "7.0"}

    def test_a_package_of_another_version_and_a_missing_one_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "requirements.txt").write_text("django==1.0\nqm-no-such-package==1\n")

        found = machine.packages(Context(Config(base_dir=tmp_path)))

        assert found.level is Level.WRONG
        assert "should be 1.0" in found.says
        assert "qm-no-such-package is not installed" in found.says

    def test_packages_as_pinned_are_fine(self) -> None:
        assert machine.packages(Context(config())).level is Level.OK

    @pytest.mark.parametrize("mode", [0o750, 0o701, 0o777])
    def test_a_var_folder_open_to_others_is_wrong(self, context: Context, var_dir: Path, mode: int) -> None:
        var_dir.chmod(mode)

        found = machine.var_folder(context)

        assert (found.level, found.mend) == (Level.WRONG, f"Run `chmod 700 {var_dir}`.")

    def test_a_private_var_folder_is_fine_and_so_is_one_not_made_yet(
        self, context: Context, var_dir: Path
    ) -> None:
        assert machine.var_folder(context).level is Level.OK
        var_dir.rmdir()
        assert machine.var_folder(context).level is Level.OK

    def test_a_var_folder_of_another_user_is_wrong(
        self, context: Context, var_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        owner = var_dir.stat().st_uid
        monkeypatch.setattr(os, "geteuid", lambda: owner + 77_777)

        assert f"belongs to {user_name(owner)}" in machine.var_folder(context).says

    @pytest.mark.parametrize(
        ("gib", "level"),
        [(0, Level.WRONG), (0.9, Level.WRONG), (4.9, Level.WARN), (5, Level.OK), (500, Level.OK)],
    )
    def test_little_space_is_a_warning_and_none_is_wrong(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, gib: float, level: Level
    ) -> None:
        monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: Usage(0, 0, int(gib * machine.GIB)))

        assert machine.disk(context).level is level

    @pytest.mark.parametrize(
        ("prefix", "level"), [(("unshare", "--pid", "--"), Level.OK), ((), Level.WARN)], ids=["held", "loose"]
    )
    def test_how_jobs_are_contained_is_said(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, prefix: tuple[str, ...], level: Level
    ) -> None:
        monkeypatch.setattr(machine.containment, "prefix", lambda: prefix)
        found = machine.contained(context)
        assert found.level is level
        assert machine.containment.describe() in found.says

    @pytest.mark.parametrize(
        ("limit", "level"),
        [(64, Level.WRONG), (256, Level.WARN), (1024, Level.OK), (resource.RLIM_INFINITY, Level.OK)],
    )
    def test_a_low_limit_of_open_files_is_said(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, limit: int, level: Level
    ) -> None:
        monkeypatch.setattr(machine.resource, "getrlimit", lambda which: (limit, limit))

        assert machine.open_files(context).level is level

    @pytest.mark.parametrize(
        ("codeset", "level"), [("UTF-8", Level.OK), ("utf8", Level.OK), ("ASCII", Level.WARN)]
    )
    def test_an_encoding_that_ansible_refuses_is_said(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, codeset: str, level: Level
    ) -> None:
        monkeypatch.setattr(machine.locale, "nl_langinfo", lambda which: codeset)

        assert machine.encoding(context).level is level

    def test_a_port_in_use_is_wrong(self, context: Context) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]

            found = machine.port(Context(dataclasses.replace(context.config, port=port)))

        assert found.level is Level.WRONG
        assert str(port) in found.says

    @pytest.mark.parametrize(
        ("said", "level"),
        [
            ("ansible-playbook [core 2.19.14]", Level.OK),
            ("ansible-playbook [core 2.18.1]", Level.OK),
            ("ansible-playbook [core 2.17.0]", Level.WRONG),
            ("ansible-playbook 2.9", Level.WRONG),
            ("Traceback", Level.WRONG),
        ],
    )
    def test_only_versions_of_ansible_that_were_tried_are_fine(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, said: str, level: Level
    ) -> None:
        monkeypatch.setattr(machine, "_output", lambda *words: said)

        assert machine.ansible(context).level is level

    @pytest.mark.parametrize(
        ("wanted", "why_not", "level", "says"),
        [
            (False, "Mitogen is not installed", Level.OK, "not asked for"),
            (True, "Mitogen is not installed", Level.WARN, "jobs run without it: Mitogen is not installed"),
            (True, "ansible-core 2.23.0 refuses it: no", Level.WARN, "ansible-core 2.23.0 refuses it"),
        ],
    )
    def test_mitogen_that_is_wanted_and_can_not_be_used_is_a_warning(
        self,
        context: Context,
        monkeypatch: pytest.MonkeyPatch,
        wanted: bool,
        why_not: str,
        level: Level,
        says: str,
    ) -> None:
        monkeypatch.setattr(machine.accelerator, "found", lambda: (None, why_not))

        found = machine.mitogen(Context(dataclasses.replace(context.config, job_mitogen=wanted)))

        assert found.level is level
        assert says in found.says

    def test_a_missing_ssh_is_a_warning_since_simulated_nodes_need_none(
        self, context: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine.shutil, "which", lambda name: None)

        assert machine.ssh(context).level is Level.WARN

    @pytest.mark.parametrize(("works", "level"), [(True, Level.OK), (False, Level.WARN)])
    def test_root_is_told_as_whom_the_database_will_run(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, works: bool, level: Level
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(machine.owner, "can_use_namespace", lambda *_: works)

        assert machine.database_user(context).level is level


@pytest.mark.django_db
class TestDatabase:
    def test_a_good_database_answers_every_question(self, context: Context) -> None:
        questions = (services.database_server, services.extensions, services.clock)

        assert [ask(context).level for ask in questions] == [Level.OK] * 3

    def test_an_old_server_is_wrong(self, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(services, "OLDEST_POSTGRES", 99)

        assert services.database_server(context).level is Level.WRONG

    def test_an_extension_that_the_server_does_not_have_is_named(
        self, context: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "EXTENSIONS", ("btree_gist", "qm_no_such_extension"))

        found = services.extensions(context)

        assert found.level is Level.WRONG
        assert "qm_no_such_extension" in found.says
        assert "btree_gist" not in found.says

    @pytest.mark.parametrize(("ahead", "level"), [(0, Level.OK), (5, Level.WARN), (-60, Level.WRONG)])
    def test_clocks_apart_are_said(
        self, context: Context, monkeypatch: pytest.MonkeyPatch, ahead: int, level: Level
    ) -> None:
        monkeypatch.setattr(services, "now", lambda: clock.now() + timedelta(seconds=ahead))

        assert services.clock(context).level is level


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_named(context: Context, settings: Settings) -> None:
    settings.MIGRATION_MODULES = {}
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")

    found = services.migrations(context)

    assert found.level is Level.WRONG
    assert "0001_initial" in found.says


class TestUnreached:
    @pytest.fixture(autouse=True)
    def unreachable(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        parameters = {"host": str(tmp_path), "dbname": "x", "user": "x"}
        monkeypatch.setattr(connection, "get_connection_params", lambda: dict(parameters))

    def test_a_given_database_that_is_away_is_wrong(self, context: Context) -> None:
        given = dataclasses.replace(context.config, database_url="postgres://h/d")

        found = services.database_server(Context(given))

        assert found.level is Level.WRONG
        assert "PORTAL_DATABASE_URL" in found.says

    def test_an_embedded_database_that_was_not_started_is_nothing_wrong(self, context: Context) -> None:
        with pytest.raises(NotCheckedError, match="manage.py up"):
            services.database_server(context)

    @pytest.mark.parametrize("question", [services.extensions, services.migrations, services.clock])
    def test_what_needs_the_database_is_not_checked_without_it(
        self, context: Context, question: checks.Check
    ) -> None:
        with pytest.raises(NotCheckedError, match="not reached"):
            question(context)


class TestBroker:
    def test_a_broker_that_answers_is_fine(
        self, context: Context, broker_url: str, settings: Settings
    ) -> None:
        settings.CELERY_BROKER_URL = broker_url

        assert (
            services.broker(Context(dataclasses.replace(context.config, broker_url=broker_url))).level
            is Level.OK
        )

    def test_a_given_broker_that_is_away_is_wrong(self, context: Context, settings: Settings) -> None:
        url = "redis+socket:///nowhere/broker.sock"
        settings.CELERY_BROKER_URL = url

        found = services.broker(Context(dataclasses.replace(context.config, broker_url=url)))

        assert found.level is Level.WRONG
        assert "PORTAL_BROKER_URL" in found.mend

    def test_an_embedded_broker_that_was_not_started_is_nothing_wrong(self, context: Context) -> None:
        with pytest.raises(NotCheckedError, match="manage.py up"):
            services.broker(context)


@pytest.mark.django_db
class TestSites:
    def test_without_any_worker_nobody_can_say(self, context: Context) -> None:
        with pytest.raises(NotCheckedError, match="no worker is running"):
            workers.sites(context)

    def test_site_with_nodes_and_no_worker_is_wrong_and_named(self, context: Context) -> None:
        some_nodes(2, site="north")
        beat(name="host:1", queues=["jobs", "looks"], slots=3, versions={})

        found = workers.sites(context)

        assert found.level is Level.WRONG
        assert found.says == "nodes that no worker reaches: site north (2 nodes): jobs, looks"

    def test_site_with_workers_is_fine(self, context: Context) -> None:
        some_nodes(2, site="north")
        beat(name="host:1", queues=["jobs.north"], slots=3, versions={})
        beat(name="host:2", queues=["doorbell", "looks.north"], slots=2, versions={})

        assert workers.sites(context).level is Level.OK
