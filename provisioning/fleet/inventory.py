"""What hosts does a file name, as Ansible itself understands it? Reads; decides nothing.

Inventories go through the real `ansible-inventory --list`, in an empty environment and with the two plugins that only
read: `yaml` and `ini`. A script or a plugin configuration is therefore text that can't be parsed, never a program.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Any

from portal.kernel.errors import Refused
from provisioning.fleet.importer import Found

LARGEST_FILE = 64 * 1024 * 1024
SECONDS = 300
_NOISE = re.compile(r"^\[(WARNING|ERROR)\]: |^Origin: .*$|^<<< caused by >>>$", re.MULTILINE)


class Format(StrEnum):
    """What a file holds."""

    INVENTORY = "inventory"
    LIST = "list"
    CSV = "csv"


def read_file(path: Path, *, wanted: Format | None = None) -> list[Found]:
    """Hosts of a file in its order. Raises Refused with what is wrong with the file as a whole."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Refused(f"{path.name} is larger than {LARGEST_FILE // 2**20} MiB.", code="file-too-large")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise Refused(f"{path} can't be read: {problem.strerror}.", code="file-unreadable") from problem
    except UnicodeDecodeError as problem:
        raise Refused(
            f"{path.name} is not UTF-8 (byte {problem.start}); save it as UTF-8.", code="file-unreadable"
        ) from problem
    chosen = wanted or guess_format(path.name, text)
    if chosen == Format.CSV:
        return read_csv(text)
    if chosen == Format.LIST:
        return read_list(text)
    return _with_lines(read_list(_ask_ansible(path)), text)


def guess_format(name: str, text: str) -> Format:
    """CSV by its ending, the answer of `--list` by its `_meta`; everything else is an inventory."""
    if name.lower().endswith(".csv"):
        return Format.CSV
    if text.lstrip().startswith("{") and '"_meta"' in text:
        return Format.LIST
    return Format.INVENTORY


def read_list(text: str) -> list[Found]:
    """Hosts in the JSON of `ansible-inventory --list`."""
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise Refused(f"This is not JSON: {problem}.", code="not-json") from problem
    if not isinstance(data, dict) or not isinstance(data.get("_meta", {}), dict):
        raise Refused("This is not what `ansible-inventory --list` prints.", code="not-a-list")
    groups = {name: group for name, group in data.items() if name != "_meta" and isinstance(group, dict)}
    if any("vars" in group for group in groups.values()):
        raise Refused(
            "This was printed with --export, so variables of groups stand apart. Run `ansible-inventory --list` "
            "without --export.",
            code="exported-list",
        )
    variables = data.get("_meta", {}).get("hostvars", {})
    named = {str(host) for group in groups.values() for host in _list_of(group.get("hosts"))}
    return [
        Found(name=name, told=_plain_dict(variables.get(name))) for name in sorted(named | set(variables))
    ]


def _list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _plain_dict(value: object) -> dict[str, Any]:
    """Variables without Ansible's tags; what is encrypted stays a mapping and is refused where it matters."""
    if not isinstance(value, dict):
        return {}
    return {str(name): _untagged(told) for name, told in value.items()}


def _untagged(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"__ansible_unsafe"}:
        return value["__ansible_unsafe"]
    return value


def read_csv(text: str) -> list[Found]:
    """Hosts of a CSV file with a header; commas, semicolons or tabs."""
    if not text.strip():
        return []
    header = text.splitlines()[0]
    delimiter = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        columns = [column.strip().lower() for column in next(rows)]
        _check_columns(columns)
        return [found for row in rows if (found := _csv_row(columns, row, rows.line_num))]
    except csv.Error as problem:
        raise Refused(f"line {rows.line_num}: this is not CSV: {problem}.", code="not-csv") from problem


_COLUMNS = {
    "name": "name",
    "address": "ansible_host",
    "user": "ansible_user",
    "port": "ansible_port",
    "connection": "ansible_connection",
    "python_interpreter": "ansible_python_interpreter",
    **{same: same for same in ("sku", "rack", "site", "gpu_count", "spare", "node_root", "simulated")},
    "simulated_node_dir": "simulated_node_dir",
}


def _check_columns(columns: list[str]) -> None:
    unknown = sorted(set(columns) - set(_COLUMNS))
    if unknown or "name" not in columns:
        wrong = f"unknown columns: {', '.join(unknown)[:200]}" if unknown else "there is no column `name`"
        raise Refused(f"line 1: {wrong}. Columns may be {', '.join(_COLUMNS)}.", code="csv-columns")
    if len(set(columns)) < len(columns):
        raise Refused("line 1: a column is there twice.", code="csv-columns")


def _csv_row(columns: list[str], row: list[str], line: int) -> Found | None:
    if not any(cell.strip() for cell in row):
        return None
    if len(row) != len(columns):
        raise Refused(
            f"line {line}: {len(row)} cells, but the header has {len(columns)} columns.", code="csv-row"
        )
    cells = {_COLUMNS[column]: cell.strip() for column, cell in zip(columns, row, strict=True)}
    name = cells.pop("name")
    return Found(
        name=name, told={key: cell for key, cell in cells.items() if cell != ""}, where=f"line {line}"
    )


def _ask_ansible(path: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="qm-inventory-") as folder:
        configuration = Path(folder) / "ansible.cfg"
        configuration.write_text("", encoding="ascii")
        words = [
            str(Path(sys.executable).with_name("ansible-inventory")),
            "-i",
            str(path.resolve()),
            "--list",
        ]
        try:
            answer = subprocess.run(
                words,
                env={
                    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                    "HOME": folder,
                    "LANG": "C.UTF-8",
                    "ANSIBLE_CONFIG": str(configuration),
                    "ANSIBLE_HOME": folder,
                    "ANSIBLE_INVENTORY_ENABLED": "yaml,ini",
                    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
                    "ANSIBLE_NOCOLOR": "1",
                },
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError as problem:
            raise Refused(
                "ansible-inventory is not installed beside this Python; install ansible-core.",
                code="no-ansible",
            ) from problem
        except subprocess.TimeoutExpired as problem:
            raise Refused(
                f"ansible-inventory did not answer in {SECONDS} s; is a range of hosts too large?",
                code="inventory-too-slow",
            ) from problem
    if answer.returncode != 0:
        raise Refused(f"Ansible can't read {path.name}: {_say(answer.stderr)}", code="not-an-inventory")
    return answer.stdout


def _say(complaint: str) -> str:
    """The lines of Ansible's complaint that say something, once each."""
    lines = [_NOISE.sub("", line).strip() for line in complaint.splitlines()]
    said = list(dict.fromkeys(line for line in lines if line and not line.endswith("plugin.")))
    return " ".join(said)[:1500] or "it gave no reason."


def _with_lines(hosts: list[Found], text: str) -> list[Found]:
    """Where each host is first named; one that comes from a range has no line of its own."""
    first: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for word in re.findall(r"[A-Za-z0-9._-]+", line.partition("#")[0]):
            first.setdefault(word.rstrip("."), number)
    return [
        Found(
            name=host.name,
            told=host.told,
            where=f"line {first[host.name]}" if host.name in first else "",
        )
        for host in hosts
    ]
