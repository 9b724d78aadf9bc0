"""Where do the embedded servers lie, and is every address read as it is written?"""

import re
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.embedded import locations

LONG = Path("/srv") / ("x" * 90)


def test_sockets_lie_in_var_when_their_path_is_short() -> None:
    assert locations.runtime_dir(Path("/srv/qm/var")) == Path("/srv/qm/var/run")


@pytest.mark.parametrize("var_dir", [LONG, Path("/srv/a,b/var"), Path("/srv/my var"), Path("/srv/größe/var")])
def test_sockets_lie_in_a_short_folder_when_var_cannot_stand_in_an_address(var_dir: Path) -> None:
    found = locations.runtime_dir(var_dir)

    assert re.fullmatch(r"/tmp/qm-[0-9a-f]{16}", str(found))
    assert found == locations.runtime_dir(var_dir)


def test_two_long_vars_never_share_a_folder() -> None:
    assert locations.runtime_dir(LONG / "a") != locations.runtime_dir(LONG / "b")


@given(st.text(min_size=1, max_size=150).filter(lambda text: "\0" not in text))
def test_every_socket_path_fits_in_the_kernels_field(name: str) -> None:
    folder = locations.runtime_dir(Path("/srv") / quote(name) / name.strip("/"))

    assert len(bytes(folder / locations.LONGEST_SOCKET_NAME)) <= locations.SOCKET_PATH_LIMIT


@pytest.mark.parametrize("var_dir", [Path("/srv/Qm/var"), LONG])
def test_libpq_and_django_read_the_same_from_the_database_url(var_dir: Path) -> None:
    url = locations.database_url(var_dir)

    theirs, ours = psycopg.conninfo.conninfo_to_dict(url), locations.settings_from_url(url)

    assert theirs["host"] == ours["HOST"] == str(locations.runtime_dir(var_dir))
    assert (theirs["user"], theirs["dbname"], theirs["port"]) == (ours["USER"], ours["NAME"], ours["PORT"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://root@127.0.0.1:5432/qm", ("127.0.0.1", "5432", "root", "", "qm")),
        ("postgresql://a:p%40s%2Fs@db.example/qm_1", ("db.example", "", "a", "p@s/s", "qm_1")),
        ("postgres://a@[::1]:5433/qm", ("::1", "5433", "a", "", "qm")),
        ("postgres:///qm?host=/run/pg&user=b", ("/run/pg", "", "b", "", "qm")),
        ("postgres://a@%2FRun%2FPg/qm", ("/Run/Pg", "", "a", "", "qm")),
        ("postgres://a@h", ("h", "", "a", "", "quartermaster")),
    ],
)
def test_django_gets_every_part_of_a_database_url(url: str, expected: tuple[str, ...]) -> None:
    found = locations.settings_from_url(url)

    assert (found["HOST"], found["PORT"], found["USER"], found["PASSWORD"], found["NAME"]) == expected


def test_other_parameters_of_a_database_url_go_to_libpq() -> None:
    assert locations.settings_from_url("postgres://h/d?sslmode=require")["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite:///x", "h/d", ""])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="postgres://"):
        locations.settings_from_url(url)
