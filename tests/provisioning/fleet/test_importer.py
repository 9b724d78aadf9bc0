"""Are a file's hosts read as Ansible reads them, refused where they are dangerous or wrong, and taken in only once?"""

from __future__ import annotations

import contextlib
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from portal.kernel.errors import Refused
from portal.ledger.models import Event
from provisioning.fleet.comparing import Known, compare
from provisioning.fleet.importer import Found, NodeRow, rows_from
from provisioning.fleet.importing import import_fleet, load_skus
from provisioning.fleet.inventory import Format, guess_format, read_csv, read_file, read_list
from provisioning.fleet.models import Node, Sku
from tests.provisioning.builders import some_nodes

SKUS = {"h100-sxm5-80g": 8, "a100-sxm4-80g": 8}
EVIL = "{{ lookup('pipe','touch PWNED') }}"


def complaints(**told: Any) -> list[str]:
    name = told.pop("name", "gpu-001")
    found = rows_from([Found(name=name, told={"sku": "h100-sxm5-80g", **told})], skus=SKUS)
    return [complaint.text for complaint in found.complaints]


def test_a_plain_host_becomes_a_node_reached_by_ssh_at_its_own_name() -> None:
    (row,) = rows_from([Found(name="gpu-001", told={"sku": "h100-sxm5-80g"})], skus=SKUS).rows
    assert row == NodeRow(name="gpu-001", address="gpu-001", sku="h100-sxm5-80g")


def test_numbers_and_words_of_ini_files_are_read_as_meant() -> None:
    told = {"sku": "h100-sxm5-80g", "rack": 7, "ansible_port": "2222", "gpu_count": 8, "spare": "yes"}
    (row,) = rows_from([Found(name="gpu-001", told=told)], skus=SKUS).rows
    assert (row.rack, row.ansible_port, row.spare) == ("7", 2222, True)


@pytest.mark.parametrize(
    "variable",
    [
        "ansible_ssh_common_args",
        "ansible_ssh_executable",
        "ansible_password",
        "ansible_become_exe",
        "ansible_shell_executable",
        "ansible_ssh_private_key_file",
        "Ansible_Shell_Type",
    ],
)
def test_ansible_variables_that_could_run_something_are_refused_by_name(variable: str) -> None:
    (text,) = complaints(**{variable: "x"})
    assert variable in text
    assert "allowed are ansible_host" in text


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ansible_connection", "local"),
        ("ansible_connection", "docker"),
        ("ansible_host", EVIL),
        ("ansible_host", "10.0.0.1 -oProxyCommand=x"),
        ("ansible_host", "10.0.0.300"),
        ("ansible_user", "root; id"),
        ("ansible_port", "70000"),
        ("ansible_port", True),
        ("ansible_python_interpreter", "python3"),
        ("ansible_python_interpreter", "/usr/bin/../../tmp/x"),
        ("ansible_python_interpreter", f"/usr/bin/python {EVIL}"),
        ("node_root", "relative"),
        ("rack", "r1\nansible_connection=local"),
        ("rack", {"__ansible_vault": "…"}),
        ("spare", "perhaps"),
        ("gpu_count", 7),
        ("node_name", "gpu-002"),
        ("ansible_become", True),
        ("ansible_become", False),
        ("sku", "h100"),
        ("sku", EVIL),
    ],
)
def test_values_that_are_not_what_they_should_be_are_refused(variable: str, value: object) -> None:
    assert len(complaints(**{variable: value})) == 1


def test_a_simulated_host_needs_its_folder_and_may_say_that_it_never_becomes_root() -> None:
    assert "simulated_node_dir" in complaints(ansible_connection="simulated")[0]
    told = {"ansible_connection": "simulated", "simulated_node_dir": "/srv/n", "ansible_become": False}
    assert complaints(**told) == []


@pytest.mark.parametrize(
    "name", ["GPU_001", "gpu-001\nx=1", "-gpu", "gpu 1", EVIL, "", "a" * 254, "\u202egpu"]
)
def test_names_that_are_no_host_names_are_refused(name: str) -> None:
    assert "RFC 1123" in complaints(name=name)[0]


def test_a_refused_name_comes_with_one_that_would_do() -> None:
    assert "gpu-001 would do" in complaints(name="GPU_001")[0]


def test_an_unknown_sku_is_refused_with_those_there_are() -> None:
    assert "a100-sxm4-80g, h100-sxm5-80g" in complaints(sku="h100")[0]


def test_two_hosts_at_one_address_are_refused() -> None:
    hosts = [
        Found(name=name, told={"sku": "h100-sxm5-80g", "ansible_host": "10.0.0.1"}) for name in ("a", "b")
    ]
    assert "address of a too" in rows_from(hosts, skus=SKUS).complaints[0].text


def test_variables_of_other_tools_are_ignored_and_counted() -> None:
    found = rows_from([Found(name="a", told={"sku": "h100-sxm5-80g", "ntp_server": EVIL})], skus=SKUS)
    assert (found.complaints, found.ignored) == ((), {"ntp_server": 1})


@given(
    st.dictionaries(st.text(max_size=30), st.none() | st.booleans() | st.integers() | st.text(max_size=50))
)
def test_whatever_a_host_says_it_is_read_or_refused_never_a_crash(told: dict[str, Any]) -> None:
    found = rows_from([Found(name="gpu-001", told=told)], skus=SKUS)
    assert bool(found.rows) != bool(found.complaints)


@given(st.text(max_size=300))
def test_whatever_a_csv_file_holds_it_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Refused):
        rows_from(read_csv(text), skus=SKUS)


def test_csv_rows_complain_by_line() -> None:
    hosts = read_csv("name;sku;rack\ngpu-001;h100-sxm5-80g;r1\n\nGPU-2;h100-sxm5-80g;r1\n")
    (complaint,) = rows_from(hosts, skus=SKUS).complaints
    assert str(complaint).startswith("line 4, GPU-2: ")


@pytest.mark.parametrize("text", ["name,colour\na,b\n", "sku\nh100\n", "name,sku\na\n", 'name,sku\n"a,b\n'])
def test_a_csv_file_that_can_not_be_read_says_where(text: str) -> None:
    with pytest.raises(Refused, match="line"):
        read_csv(text)


def test_a_list_with_export_is_refused_with_the_way_out() -> None:
    with pytest.raises(Refused, match="without --export"):
        read_list(json.dumps({"_meta": {"hostvars": {}}, "g": {"hosts": ["a"], "vars": {"sku": "x"}}}))


def test_formats_are_guessed_from_name_and_content() -> None:
    assert guess_format("x.CSV", "") == Format.CSV
    assert guess_format("x.json", '{"_meta": {}}') == Format.LIST
    assert guess_format("hosts", "[all]") == Format.INVENTORY


def test_changes_of_a_held_node_that_would_move_it_are_refused_and_others_told() -> None:
    old = NodeRow(name="a", address="10.0.0.1", sku="h100-sxm5-80g")
    new = NodeRow(name="a", address="10.0.0.2", sku="h100-sxm5-80g", rack="r2")
    held = compare([new], {"a": Known(row=old, held=True)})
    assert [complaint.text.split()[0] for complaint in held.complaints] == ["address"]
    free = compare([new], {"a": Known(row=old, held=False), "b": Known(row=old, held=False)})
    assert [change.field for change in free.changed["a"]] == ["address", "rack"]
    assert (free.complaints, free.missing) == ((), ("b",))


INI = """\
[h100]
gpu-[001:003] rack=r1

[h100:vars]
sku=h100-sxm5-80g

[spares]
gpu-003 spare=true
"""
YAML = """\
all:
  children:
    h100:
      vars: {sku: h100-sxm5-80g}
      hosts:
        gpu-001: {rack: r1}
        gpu-002: {rack: r1}
        gpu-003: {rack: r1, spare: true}
"""


@pytest.mark.ansible
@pytest.mark.parametrize(("name", "text"), [("hosts", INI), ("hosts.ini", INI), ("hosts.yml", YAML)])
def test_ranges_groups_and_their_variables_are_read_as_ansible_reads_them(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    rows = rows_from(read_file(path), skus=SKUS)
    assert rows.complaints == ()
    assert [(row.name, row.rack, row.spare) for row in rows.rows] == [
        ("gpu-001", "r1", False),
        ("gpu-002", "r1", False),
        ("gpu-003", "r1", True),
    ]


@pytest.mark.ansible
def test_a_script_is_text_that_can_not_be_read_and_never_runs(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\necho '{{}}'\n")
    path.chmod(0o755)
    with pytest.raises(Refused, match="Ansible can't read hosts"):
        read_file(path)
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.ansible
def test_templates_in_an_inventory_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "hosts.yml"
    lines = ["all:", "  hosts:", "    gpu-001:", "      sku: h100-sxm5-80g"]
    path.write_text("\n".join([*lines, f'      rack: "{EVIL}"', f'      x: !unsafe "{EVIL}"', ""]))
    (host,) = read_file(path)
    assert host.told["x"] == EVIL
    assert "rack" in rows_from([host], skus=SKUS).complaints[0].text
    assert not Path("PWNED").exists()


@pytest.mark.ansible
def test_a_complaint_about_an_inventory_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "hosts.yml"
    path.write_text("all:\n  hosts:\n    gpu-001: {sku: h100-sxm5-80g}\n    gpu_2: {sku: h100-sxm5-80g}\n")
    (complaint,) = rows_from(read_file(path), skus=SKUS).complaints
    assert str(complaint).startswith("line 4, gpu_2: ")


def csv_file(folder: Path, *rows: str) -> Path:
    path = folder / "fleet.csv"
    path.write_text("\n".join(["name,address,sku,rack", *rows]) + "\n")
    return path


@pytest.mark.django_db
def test_an_operator_imports_a_fleet_and_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "gpu-001,10.0.0.1,h100-sxm5-80g,r1", "gpu-002,10.0.0.2,h100-sxm5-80g,r1")
    assert import_fleet(path=path, by=None).applied
    assert set(Node.objects.values_list("name", "status", "rack__name")) == {
        ("gpu-001", "free", "r1"),
        ("gpu-002", "free", "r1"),
    }
    again = import_fleet(path=path, by=None)
    assert (len(again.diff.added), len(again.diff.changed), len(again.diff.unchanged)) == (0, 0, 2)
    assert Event.objects.filter(name="fleet.imported").count() == 1


@pytest.mark.django_db
def test_one_wrong_row_keeps_all_rows_out(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "gpu-001,10.0.0.1,h100-sxm5-80g,r1", "gpu-002,10.0.0.2,h9,r1")
    result = import_fleet(path=path, by=None)
    assert (result.applied, len(result.complaints), Node.objects.count()) == (False, 1, 0)


@pytest.mark.django_db
def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path) -> None:
    some_nodes(2)
    path = csv_file(tmp_path, "gpu-003,10.0.0.9,h100-sxm5-80g,r1")
    out = StringIO()
    call_command("import_fleet", str(path), "--dry-run", stdout=out)
    assert "+ gpu-003" in out.getvalue()
    assert "? gpu-001: not in the file" in out.getvalue()
    assert Node.objects.count() == 2


@pytest.mark.django_db
def test_changes_are_applied_and_missing_nodes_stay(tmp_path: Path) -> None:
    first = csv_file(tmp_path, "gpu-001,10.0.0.1,h100-sxm5-80g,r1", "gpu-002,10.0.0.2,h100-sxm5-80g,r1")
    import_fleet(path=first, by=None)
    result = import_fleet(path=csv_file(tmp_path, "gpu-001,10.0.0.7,h100-sxm5-80g,r9"), by=None)
    assert result.diff.missing == ("gpu-002",)
    assert set(Node.objects.values_list("name", "address", "rack__name")) == {
        ("gpu-001", "10.0.0.7", "r9"),
        ("gpu-002", "10.0.0.2", "r1"),
    }


@pytest.mark.django_db
def test_the_command_says_every_complaint_and_fails(tmp_path: Path) -> None:
    err = StringIO()
    path = csv_file(tmp_path, "GPU_1,10.0.0.1,h100-sxm5-80g,r1", "gpu-2,10.0.0.2,h9,r1")
    with pytest.raises(CommandError, match="2 complaints"):
        call_command("import_fleet", str(path), stdout=StringIO(), stderr=err)
    assert "line 2, GPU_1" in err.getvalue()
    assert "line 3, gpu-2" in err.getvalue()


@pytest.mark.django_db
def test_registered_nodes_wait_for_an_operator_when_asked_to(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "gpu-001,10.0.0.1,h100-sxm5-80g,r1")
    import_fleet(path=path, admit=False, by=None)
    assert Node.objects.get().status == "registered"


@pytest.mark.django_db
def test_skus_are_loaded_once_and_keep_what_people_set() -> None:
    assert load_skus() > 0
    Sku.objects.update(spares_kept=3)
    assert load_skus() == 0
    Sku.objects.update(content_hash="old")
    assert load_skus() > 0
    assert set(Sku.objects.values_list("spares_kept", flat=True)) == {3}


def test_site_of_a_host_is_taken_in_and_what_is_no_site_is_refused() -> None:
    (row,) = rows_from(
        [Found(name="gpu-001", told={"sku": "h100-sxm5-80g", "site": "north"})], skus=SKUS
    ).rows
    assert row.site == "north"
    (text,) = complaints(site="North Hall")
    assert "'North Hall' is not a site's name" in text


def test_rack_that_would_stand_at_two_sites_is_refused() -> None:
    def row(name: str, site: str) -> NodeRow:
        return NodeRow(name=name, address=name, sku="h100-sxm5-80g", rack="r1", site=site)

    known = {"gpu-001": Known(row=row("gpu-001", "north"), held=False)}
    (complaint,) = compare([row("gpu-002", "south")], known).complaints
    assert "rack r1 would stand at north and south (gpu-001 is in it too)" in complaint.text
    assert compare([row("gpu-001", "south"), row("gpu-002", "south")], known).complaints == ()


def test_node_that_a_team_holds_does_not_change_its_site() -> None:
    def row(site: str) -> NodeRow:
        return NodeRow(name="gpu-001", address="gpu-001", sku="h100-sxm5-80g", site=site)

    (complaint,) = compare([row("south")], {"gpu-001": Known(row=row("north"), held=True)}).complaints
    assert "site can't change from 'north' to 'south'" in complaint.text
