"""The environment is read once, typed, and complains in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config import ConfigError, read_config


def test_silence_gives_the_defaults() -> None:
    config = read_config({"HOME": "/root"})
    assert config.database_url is None
    assert config.port is None


def test_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="PORTAL_DATABSE_URL"):
        read_config({"PORTAL_DATABSE_URL": "postgres://"})


def test_every_complaint_is_said_at_once() -> None:
    with pytest.raises(ConfigError, match=r"PORTAL_DEBUG .*; PORTAL_PORT"):
        read_config({"PORTAL_PORT": "http", "PORTAL_DEBUG": "perhaps"})


def test_secret_can_come_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("s3cr3t\n")
    assert read_config({"PORTAL_SECRET_KEY_FILE": str(secret)}).secret_key == "s3cr3t"


def test_setting_whose_name_ends_in_file_is_not_read_as_a_file() -> None:
    config = read_config({"PORTAL_SSH_KEY_FILE": "/etc/portal/key"})
    assert config.ssh_key_file == Path("/etc/portal/key")


def test_empty_url_means_the_embedded_server() -> None:
    assert read_config({"PORTAL_DATABASE_URL": ""}).database_url is None
