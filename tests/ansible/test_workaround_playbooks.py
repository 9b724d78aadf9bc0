"""Does a workaround come onto a node and off again, leaving it as it was, and once however often it runs?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.simulated import JOB, WIPE, Fleet, unsafe

pytestmark = pytest.mark.ansible
NODE = "gpu-001"
REMEDIES: dict[str, dict[str, str]] = {
    "nccl-env": {"NCCL_IB_HCA": "^mlx5_3", "NCCL_P2P_LEVEL": "NVL"},
    "sysctl": {"vm.swappiness": "10", "net.ipv4.tcp_rmem": "4096 262144 6291456"},
    "scratch-mount": {"path": "/scratch-fast", "size_gib": "64"},
    "clock-lock": {"min_mhz": "1200", "max_mhz": "1500"},
}


def told(name: str, settings: dict[str, str]) -> dict[str, Any]:
    """As the portal tells it: what people wrote is data."""
    pairs = [{"name": key, "value": value} for key, value in settings.items()]
    return JOB | {"remedy_name": unsafe(name), "remedy_settings": unsafe(pairs)}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet.made_in(tmp_path, count=1)
    assert [path.name for path in made.nodes] == [NODE]
    return made


def without_memory(prints: dict[str, str]) -> dict[str, str]:
    """What the tools themselves remember aside: that clocks were locked once, and tabs between numbers."""
    state = json.loads(prints["state"].replace("\\t", " "))
    state.pop("locked_clocks", None)
    return {**prints, "state": json.dumps(state, sort_keys=True)}


@pytest.mark.parametrize("name", REMEDIES)
def test_remedy_comes_once_goes_once_and_leaves_the_node_as_it_was(fleet: Fleet, name: str) -> None:
    before = without_memory(fleet.fingerprint(NODE))
    variables = told(name, REMEDIES[name])

    first = fleet.run("apply_workaround", variables)
    assert first.code == 0, first.text
    assert first.of(NODE, "changed") == ["Put the remedy on the node"]
    assert without_memory(fleet.fingerprint(NODE)) != before
    again = fleet.run("apply_workaround", variables)
    assert (again.code, again.of(NODE, "changed")) == (0, []), again.text

    off = fleet.run("revert_workaround", variables)
    assert (off.code, off.of(NODE, "changed")) == (0, ["Take the remedy off the node"]), off.text
    assert without_memory(fleet.fingerprint(NODE)) == before
    twice = fleet.run("revert_workaround", variables)
    assert (twice.code, twice.of(NODE, "changed")) == (0, []), twice.text


def test_each_remedy_does_what_it_says(fleet: Fleet) -> None:
    for name, settings in REMEDIES.items():
        ran = fleet.run("apply_workaround", told(name, settings))
        assert ran.code == 0, ran.text
    state, root = fleet.state(NODE), fleet.root(NODE)
    assert "NCCL_IB_HCA=^mlx5_3\n" in (root / "etc/nccl.conf").read_text()
    assert state["sysctl"]["vm.swappiness"] == "10"
    assert "vm.swappiness = 10" in (root / "etc/sysctl.d/95-quartermaster-remedy.conf").read_text()
    (mount,) = [each for each in state["mounts"] if each["target"] == "/scratch-fast"]
    assert mount["fstype"] == "tmpfs"
    assert "size=64G" in (root / "etc/fstab").read_text()
    assert state["locked_clocks"] == "1200,1500"


def test_other_settings_replace_the_first_and_the_revert_restores_the_beginning(fleet: Fleet) -> None:
    was = fleet.state(NODE)["sysctl"]["vm.swappiness"]
    for settings in ({"vm.swappiness": "10", "vm.nr_hugepages": "64"}, {"vm.swappiness": "20"}):
        assert fleet.run("apply_workaround", told("sysctl", settings)).code == 0
    now = fleet.state(NODE)["sysctl"]
    assert (now["vm.swappiness"], now["vm.nr_hugepages"]) == ("20", "0")
    assert fleet.run("revert_workaround", told("sysctl", {"vm.swappiness": "20"})).code == 0
    assert fleet.state(NODE)["sysctl"]["vm.swappiness"] == was


def test_lines_of_the_site_stay(fleet: Fleet) -> None:
    file = fleet.root(NODE) / "etc/nccl.conf"
    file.write_text("NCCL_DEBUG=WARN\n")
    variables = told("nccl-env", REMEDIES["nccl-env"])
    assert fleet.run("apply_workaround", variables).code == 0
    assert file.read_text().startswith("NCCL_DEBUG=WARN\n# BEGIN quartermaster remedy\n")
    assert fleet.run("revert_workaround", variables).code == 0
    assert file.read_text() == "NCCL_DEBUG=WARN\n"


def test_wipe_takes_off_what_nobody_reverted(fleet: Fleet) -> None:
    for name in ("sysctl", "scratch-mount"):
        assert fleet.run("apply_workaround", told(name, REMEDIES[name])).code == 0
    ran = fleet.run("wipe_node", JOB | WIPE)
    assert ran.code == 0, ran.text
    state = fleet.state(NODE)
    assert state["sysctl"]["vm.swappiness"] != "10"
    assert not [each for each in state["mounts"] if each["target"] == "/scratch-fast"]


def test_check_mode_tells_and_changes_nothing(fleet: Fleet) -> None:
    before = fleet.fingerprint(NODE)
    ran = fleet.run("apply_workaround", told("sysctl", REMEDIES["sysctl"]), "--check")
    assert (ran.code, ran.of(NODE, "changed")) == (0, ["Put the remedy on the node"]), ran.text
    assert fleet.fingerprint(NODE) == before


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nccl-env", {"NCCL_IB_HCA": "{{ lookup('ansible.builtin.pipe', 'touch pwned') }}"}),
        ("nccl-env", {"LD_PRELOAD": "/tmp/evil.so"}),
        ("nccl-env", {"NCCL_DEBUG": "INFO\nLD_PRELOAD=/x"}),
        ("sysctl", {"kernel.modprobe": "1"}),
        ("sysctl", {"vm.swappiness": "10; reboot"}),
        ("scratch-mount", {"path": "/etc", "size_gib": "1"}),
        ("scratch-mount", {"path": "/scratch-a"}),
        ("clock-lock", {"min_mhz": "1500", "max_mhz": "1200"}),
        ("rm-rf", {"path": "/"}),
    ],
)
def test_bad_input_is_refused_before_anything_changes(
    fleet: Fleet, name: str, settings: dict[str, str]
) -> None:
    before = fleet.fingerprint(NODE)
    ran = fleet.run("apply_workaround", told(name, settings))
    assert ran.code != 0
    assert fleet.fingerprint(NODE) == before
    assert not list(fleet.folder.rglob("pwned"))
