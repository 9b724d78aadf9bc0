"""Which simulated fleet does somebody at a command line want: make, list, break, mend, show as an inventory?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TextIO

from provisioning.simulator import faults, fleet, node, skus
from provisioning.simulator.inventory import inventory

EXPECTED = (faults.UnknownFault, skus.UnknownSku, node.NotANode, FileExistsError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """create | inject | clear | list | faults | inventory"""
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="make simulated nodes below a folder")
    create.add_argument("folder", type=Path, metavar="DIR")
    create.add_argument("--count", type=int, default=12)
    create.add_argument("--sku", default="h100-sxm5-80g", help="slug of the SKU")
    create.add_argument("--seed", type=int, default=1, help="the same seed makes the same nodes")
    create.add_argument("--prefix", default="gpu-")
    create.add_argument("--start", type=int, default=1, help="the first node's number")
    inject = actions.add_parser("inject", help="break a node; `faults` lists how")
    inject.add_argument("node", type=Path, metavar="NODE", help="the node's folder")
    inject.add_argument("fault", metavar="FAULT")
    inject.add_argument("--factor", type=float, help="what is left of the figures, such as 0.94")
    inject.add_argument("--gpu", help="one GPU by number, or all")
    inject.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE")
    clear = actions.add_parser("clear", help="mend a node")
    clear.add_argument("node", type=Path, metavar="NODE")
    clear.add_argument("fault", nargs="?", metavar="FAULT", help="only this one")
    for name, text in (
        ("list", "nodes and what is wrong with them"),
        ("inventory", "the fleet as an Ansible inventory (JSON)"),
    ):
        actions.add_parser(name, help=text).add_argument("folder", type=Path, metavar="DIR")
    actions.add_parser("faults", help="every fault, what it shows and its parameters")


def run(given: argparse.Namespace, out: TextIO) -> None:
    """Do what was asked; raises one of EXPECTED with a message for people."""
    ACTIONS[given.action](given, out)


def _create(given: argparse.Namespace, out: TextIO) -> None:
    made = fleet.create(
        given.folder,
        count=given.count,
        sku=given.sku,
        seed=given.seed,
        prefix=given.prefix,
        start=given.start,
    )
    out.write(
        f"{len(made)} simulated nodes of {given.sku} in {given.folder}: {made[0].name} to {made[-1].name}\n"
    )


def _inject(given: argparse.Namespace, out: TextIO) -> None:
    params = dict(word.split("=", 1) if "=" in word else (word, "") for word in given.param)
    if given.factor is not None:
        params["factor"] = given.factor
    if given.gpu is not None:
        params["gpu"] = given.gpu
    entry = faults.inject(given.node, given.fault, **params)
    out.write(f"{given.node.name}: {given.fault} {json.dumps(entry['params'], sort_keys=True)}\n")


def _clear(given: argparse.Namespace, out: TextIO) -> None:
    gone = faults.clear(given.node, given.fault)
    out.write(f"{given.node.name}: {', '.join(gone) if gone else 'nothing was wrong'}\n")


def _list(given: argparse.Namespace, out: TextIO) -> None:
    for folder in fleet.node_dirs(given.folder):
        state = node.read_state(folder)
        wrong = ", ".join(
            f"{name} {json.dumps(fault['params'], sort_keys=True)}" for name, fault in state["faults"].items()
        )
        out.write(f"{folder.name}  {state['sku']['slug']}  rack {state['rack']}  {wrong or 'healthy'}\n")


def _faults(given: argparse.Namespace, out: TextIO) -> None:
    for name, fault in faults.TABLE.items():
        out.write(f"{name}\n    {fault.shows}\n")
        for param, default in fault.params.items():
            out.write(f"    {param} = {'all' if default is None else default!r}\n")


def _inventory(given: argparse.Namespace, out: TextIO) -> None:
    out.write(json.dumps(inventory(given.folder), indent=2) + "\n")


ACTIONS = {
    "create": _create,
    "inject": _inject,
    "clear": _clear,
    "list": _list,
    "faults": _faults,
    "inventory": _inventory,
}
