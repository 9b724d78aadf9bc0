"""Which variables does each playbook take? Prints docs/reference/playbooks.md from the playbooks and their roles' argument specs.

Run it after changing either: python ansible/reference.py > docs/reference/playbooks.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
JOB = ("job_ref", "attempt", "cluster_ref")
HOST = ("node_name", "node_root", "sku", "gpu_count", "simulated")

HEAD = """\
# Playbooks

<!-- Written by ansible/reference.py from the playbooks and the argument specs of their roles. Change those, not this page. -->

Every playbook runs on the inventory group `targets`, reads only the variables below, and refuses a value of the wrong type or form
before it touches a node. A second run on the same data changes nothing, and `--check` tells what would change and changes nothing.
What people wrote must come tagged unsafe: it is used as text, never as a template.

A team's keys are plain public keys (type, base64, comment), one line each, without options. Where nodes share storage, give every
account its `uid`, or its files belong to somebody else on the next node.

Files are reached below `node_root`, which is empty on a real node, and tools by their bare names, so the same roles run against a
simulated node. Slurm's controller, the munge key and package sources of drivers are the site's: they come with the node's image.
"""


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def roles_of(playbook: Path) -> list[str]:
    """The roles a playbook runs, in their order."""
    return [entry["role"] for play in load(playbook) for entry in play["roles"]]


def options_of(role: str) -> dict[str, Any]:
    """Every variable a role declares."""
    specs: dict[str, Any] = load(HERE / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"][
        "main"
    ]["options"]
    return specs


def summary_of(role: str) -> str:
    return str(
        load(HERE / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]["main"][
            "short_description"
        ]
    )


def public(role: str) -> dict[str, Any]:
    """The variables others give a role; those that begin with its name are its own settings, for a site to change."""
    return {
        name: option
        for name, option in options_of(role).items()
        if not name.startswith(f"{role}_") or name in PUBLIC_ANYWAY
    }


# Variables of the portal that happen to begin with the name of the role that reads them.
PUBLIC_ANYWAY = (
    "gpu_driver_version",
    "storage_mounts",
    "collective_sizes",
    "collective_repeats",
    "wipe_force",
)


def variables_of(playbook: Path) -> dict[str, Any]:
    """Every variable that the portal gives a playbook, with its option as the first role declares it."""
    found: dict[str, Any] = {}
    for role in roles_of(playbook):
        for name, option in public(role).items():
            found.setdefault(name, option)
    return found


def settings_of(role: str) -> dict[str, Any]:
    return {name: option for name, option in options_of(role).items() if name not in public(role)}


def type_of(option: dict[str, Any]) -> str:
    kind = str(option["type"])
    if "options" in option:
        inner = ", ".join(
            f"{name}{'' if part.get('required') else '?'}: {type_of(part)}"
            for name, part in option["options"].items()
        )
        return f"list of {{{inner}}}" if kind == "list" else f"{{{inner}}}"
    return f"list of {option['elements']}" if kind == "list" else kind


def table(options: dict[str, Any]) -> list[str]:
    lines = ["| variable | type | needed | meaning |", "|---|---|---|---|"]
    for name, option in options.items():
        needed = (
            "yes"
            if option.get("required")
            else "no"
            if option.get("default") is None
            else f"no, `{option['default']}`"
        )
        lines.append(f"| `{name}` | {type_of(option)} | {needed} | {option['description']} |")
    return lines


def first_comment(playbook: Path) -> str:
    lines = playbook.read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))


def section(playbook: Path) -> list[str]:
    shared = {*JOB, *HOST}
    own = {name: option for name, option in variables_of(playbook).items() if name not in shared}
    lines = [f"## {playbook.stem}", "", first_comment(playbook), ""]
    lines += [f"- `{role}`: {summary_of(role)}" for role in roles_of(playbook)]
    return [*lines, "", *table(own), ""]


def page() -> str:
    playbooks = sorted((HERE / "playbooks").glob("*.yml"))
    shared = options_of("preflight")
    lines = [
        HEAD,
        "## Every playbook",
        "",
        "Variables of the job:",
        "",
        *table({name: shared[name] for name in JOB}),
        "",
    ]
    lines += ["Variables of each host:", "", *table({name: shared[name] for name in HOST}), ""]
    for playbook in playbooks:
        lines += section(playbook)
    lines += [
        "## Settings of a site",
        "",
        "Defaults of the roles; a site changes them in its inventory's group variables.",
        "",
    ]
    for role in sorted({role for playbook in playbooks for role in roles_of(playbook)}):
        if settings_of(role):
            lines += [f"### {role}", "", *table(settings_of(role)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
