"""A node made of a few folders and shell scripts, and a way to run one of our modules on it."""

from __future__ import annotations

import importlib.util
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import ansible.module_utils
from ansible.module_utils import basic

REPO = Path(__file__).resolve().parents[2]
ANSIBLE = REPO / "ansible"


class ModuleFailed(AssertionError):
    """The module ended with fail_json; `result` is what it said."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result.get("msg"))
        self.result = result


class ToolNode:
    """A node whose tools are scripts written by the test; `log` holds every call as one line."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self.root, self.bin = folder, folder / "root", folder / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        self._patch, self._capsys = monkeypatch, capsys

    def tool(self, name: str, script: str = "exit 0") -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\nD="{self.folder}"\necho "{name} $*" >> "$D/log"\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def put(self, path: str, text: str) -> Path:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    @property
    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def forget_log(self) -> None:
        (self.folder / "log").unlink(missing_ok=True)

    def run(self, module: str, *, check: bool = False, **params: Any) -> dict[str, Any]:
        """What the module answers; raises ModuleFailed when it refuses or fails."""
        for known in [name for name in sys.modules if name == "ansible.module_utils.node_tools"]:
            del sys.modules[known]
        self._patch.setattr(
            ansible.module_utils, "__path__", [*ansible.module_utils.__path__, str(ANSIBLE / "module_utils")]
        )
        self._patch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        self._patch.setenv("QM_NODE_DIR", str(self.folder))
        arguments = {
            "node_root": str(self.root),
            **params,
            "_ansible_check_mode": check,
            "_ansible_diff": True,
        }
        self._patch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
        self._patch.setattr(basic, "_ANSIBLE_PROFILE", "legacy")
        spec = importlib.util.spec_from_file_location(
            f"library_{module}", ANSIBLE / "library" / f"{module}.py"
        )
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        self._capsys.readouterr()
        with pytest.raises(SystemExit):
            loaded.main()
        result: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        if result.get("failed"):
            raise ModuleFailed(result)
        return result


@pytest.fixture
def tool_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ToolNode:
    return ToolNode(tmp_path, monkeypatch, capsys)


@pytest.fixture
def apt_node(tool_node: ToolNode) -> ToolNode:
    """A node with dpkg and apt: `dpkg` holds what is installed, `policy/NAME` what apt offers, `apt_fail` what apt-get says."""
    tool_node.tool(
        "dpkg-query",
        """shift 3
[ $# = 0 ] && sed 's/ / install ok installed /' "$D/dpkg"
for n in "$@"; do sed -n "s/^$n \\(.*\\)/$n install ok installed \\1/p" "$D/dpkg"; done""",
    )
    tool_node.tool("apt-cache", 'cat "$D/policy/$2" 2>/dev/null; exit 0')
    tool_node.tool(
        "apt-mark",
        """
touch "$D/holds"
verb=$1; shift
case $verb in
  showhold) cat "$D/holds" ;;
  hold) for n in "$@"; do echo "$n" >> "$D/holds"; done ;;
  unhold) for n in "$@"; do sed -i "/^$n\\$/d" "$D/holds"; done ;;
esac""",
    )
    tool_node.tool(
        "apt-get",
        """
[ -f "$D/apt_fail" ] && { cat "$D/apt_fail" >&2; exit 100; }
[ "$1" = update ] && { [ -d "$D/fresh" ] && cp "$D/fresh/"* "$D/policy/"; exit 0; }
verb=$1; shift
for word in "$@"; do
  case $word in -*) continue ;; esac
  name=${word%%=*}; version=${word#*=}; [ "$version" = "$word" ] && version=1.0-1
  sed -i "/^$name /d" "$D/dpkg"
  [ "$verb" = install ] && echo "$name $version" >> "$D/dpkg"
done; exit 0""",
    )
    (tool_node.folder / "dpkg").write_text("")
    (tool_node.folder / "policy").mkdir()
    return tool_node


@pytest.fixture
def offer(apt_node: ToolNode) -> Any:
    """offer(name, *versions): what apt-cache policy shows, byte for byte as apt prints it."""

    def write(name: str, *versions: str, folder: str = "policy") -> None:
        rows = "".join(
            f"     {version} 500\n        500 http://archive.example/ubuntu jammy/main amd64 Packages\n"
            for version in versions
        )
        text = f"{name}:\n  Installed: (none)\n  Candidate: {versions[0]}\n  Version table:\n{rows}"
        (apt_node.folder / folder).mkdir(exist_ok=True)
        (apt_node.folder / folder / name).write_text(text)

    return write
