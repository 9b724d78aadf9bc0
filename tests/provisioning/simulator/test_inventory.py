"""Does the fleet's inventory tell Ansible and the importer what they need, as the command line prints it?"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from provisioning.simulator import cli, faults
from provisioning.simulator.inventory import inventory
from tests.provisioning.simulator.conftest import SimNode


def say(*argv: str) -> str:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    out = io.StringIO()
    cli.run(parser.parse_args(argv), out)
    return out.getvalue()


def test_inventory_tells_everything_of_a_host(trio: list[SimNode]) -> None:
    told = inventory(trio[0].folder.parent, python="/usr/bin/python3")

    assert told["targets"]["hosts"]["gpu-002"] == {
        "ansible_host": "10.77.0.3",
        "ansible_connection": "simulated",
        "ansible_become": False,
        "ansible_python_interpreter": "/usr/bin/python3",
        "node_name": "gpu-002",
        "node_root": str(trio[1].root.resolve()),
        "simulated": True,
        "simulated_node_dir": str(trio[1].folder.resolve()),
        "sku": "h100-sxm5-80g",
        "gpu_count": 8,
        "rack": "r01",
    }
    assert told["rack_r01"] == {"hosts": {"gpu-001": {}, "gpu-002": {}, "gpu-003": {}}}


def test_command_line_makes_lists_breaks_and_mends(tmp_path: Path) -> None:
    assert say("create", "--count", "2", "--seed", "3", str(tmp_path)) == (
        f"2 simulated nodes of h100-sxm5-80g in {tmp_path}: gpu-001 to gpu-002\n"
    )
    assert say(
        "inject",
        str(tmp_path / "gpu-002"),
        "thermal",
        "--factor",
        "0.9",
        "--gpu",
        "all",
        "-p",
        "until_reboot=yes",
    ) == ('gpu-002: thermal {"factor": 0.9, "gpu": null, "until_reboot": true}\n')
    assert say("list", str(tmp_path)).splitlines() == [
        "gpu-001  h100-sxm5-80g  rack r01  healthy",
        'gpu-002  h100-sxm5-80g  rack r01  thermal {"factor": 0.9, "gpu": null, "until_reboot": true}',
    ]
    assert say("clear", str(tmp_path / "gpu-002")) == "gpu-002: thermal\n"
    assert say("clear", str(tmp_path / "gpu-002")) == "gpu-002: nothing was wrong\n"
    assert set(json.loads(say("inventory", str(tmp_path)))["targets"]["hosts"]) == {"gpu-001", "gpu-002"}


def test_command_line_documents_every_fault() -> None:
    text = say("faults")

    assert all(f"{name}\n    {fault.shows}\n" in text for name, fault in faults.TABLE.items())


def test_management_command_does_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("simulate", "create", str(tmp_path), "--count", "1")
    call_command("simulate", "list", str(tmp_path))

    assert capsys.readouterr().out.splitlines()[-1] == "gpu-001  h100-sxm5-80g  rack r01  healthy"


@pytest.mark.parametrize(
    "argv", [("create", "--sku", "nope"), ("create", "--count", "0"), ("inject", "meteor"), ("list-of",)]
)
def test_management_command_says_what_is_wrong(tmp_path: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        call_command(
            "simulate",
            argv[0],
            *([str(tmp_path)] if argv[0] == "create" else [str(tmp_path / "gpu-001")]),
            *argv[1:],
        )
