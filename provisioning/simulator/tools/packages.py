"""Which Debian packages are installed, offered and held, and what do dpkg and apt print about them?"""

from __future__ import annotations

import re

from provisioning.simulator.call import Call, options
from provisioning.simulator.tools.apt_offers import APT_VALUES, VALID_NAME, offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]


def dpkg_query(call: Call) -> int:
    """dpkg-query -W [-f FORMAT] [NAME…] | -s NAME | -l"""
    given, names = options(call.argv, ("-f", "--showformat"))
    layout = given.get("-f") or given.get("--showformat") or "${Package}\\t${Version}\\n"
    packages = call.state["packages"]
    if "-s" in given or "--status" in given:
        layout = "Package: ${Package}\\nStatus: ${Status}\\nVersion: ${Version}\\n\\n"
    code = 0
    for name in names or sorted(packages):
        package = packages.get(name.split(":")[0])
        if package is None:
            call.err(f"dpkg-query: no packages found matching {name}\n")
            code = 1
        else:
            call.out(_filled(layout, name, package))
    return code


def _filled(layout: str, name: str, package: dict[str, Any]) -> str:
    values = {
        "Package": name,
        "binary:Package": name,
        "Version": package["version"],
        "Architecture": "amd64",
        "db:Status-Abbrev": "ii ",
        "Status": f"{'hold' if package['hold'] else 'install'} ok installed",
        "db:Status-Status": "installed",
    }
    text = re.sub(r"\$\{([A-Za-z:-]+)(?:;-?\d+)?\}", lambda found: values.get(found[1], ""), layout)
    return text.replace("\\n", "\n").replace("\\t", "\t")


def dpkg(call: Call) -> int:
    """dpkg -l | -s NAME | --print-architecture | --compare-versions (only eq and ne) | --configure -a"""
    if "--print-architecture" in call.argv:
        call.out("amd64\n")
        return 0
    if "-s" in call.argv or "--status" in call.argv:
        return dpkg_query(call)
    if "-l" in call.argv or "--list" in call.argv:
        call.out(
            "".join(
                f"ii  {name}  {package['version']}  amd64\n"
                for name, package in sorted(call.state["packages"].items())
            )
        )
    return 0


def apt_cache(call: Call) -> int:
    """apt-cache policy NAME… | madison NAME | show NAME"""
    _, words = options(call.argv, APT_VALUES)
    what, names = (words[0], words[1:]) if words else ("", [])
    for name in names:
        if VALID_NAME.fullmatch(name):
            call.out(
                {"policy": _policy, "madison": _madison, "show": _shown}.get(what, _policy)(call.state, name)
            )
    return 0 if what in ("policy", "madison", "show") else call.fail(100, f"E: Invalid operation {what}")


def _policy(state: State, name: str) -> str:
    package = state["packages"].get(name)
    have = None if package is None else package["version"]
    versions = offered(name, have)
    text = f"{name}:\n  Installed: {have or '(none)'}\n  Candidate: {have if package and package['hold'] else versions[0]}\n  Version table:\n"
    for version in versions:
        text += f" {'***' if version == have else '   '} {version} 500\n        500 http://archive.ubuntu.com/ubuntu jammy/main amd64 Packages\n"
        text += "        100 /var/lib/dpkg/status\n" if version == have else ""
    return text


def _madison(state: State, name: str) -> str:
    return "".join(
        f"{name} | {version} | http://archive.ubuntu.com/ubuntu jammy/main amd64 Packages\n"
        for version in offered(name)
    )


def _shown(state: State, name: str) -> str:
    return "".join(
        f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n\n" for version in offered(name)
    )


def apt_mark(call: Call) -> int:
    """apt-mark hold|unhold|showhold|auto|manual NAME…"""
    _, words = options(call.argv, APT_VALUES)
    what, names = (words[0], words[1:]) if words else ("", [])
    if what == "showhold":
        call.out(
            "".join(
                f"{name}\n" for name, package in sorted(call.state["packages"].items()) if package["hold"]
            )
        )
        return 0
    unknown = [name for name in names if name not in call.state["packages"]]
    if unknown and what in ("hold", "unhold"):
        return call.fail(100, f"E: Unable to locate package {unknown[0]}\nE: No packages found")
    if what in ("hold", "unhold"):
        call.update(lambda state: [state["packages"][name].update(hold=what == "hold") for name in names])
        call.out(
            "".join(
                f"{name} {'set on hold' if what == 'hold' else 'was already not hold'}.\n" for name in names
            )
        )
    return 0
