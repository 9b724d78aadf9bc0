#!/usr/bin/python
"""Which Debian packages does this node have, in which version, and may apt move them?

packages: [{name, version, hold}], or only `names`. `version` may be the whole Debian version or only its upstream part ("570.124.06" accepts
"570.124.06-0ubuntu1"); empty accepts any. `hold` true pins the package where it is, false lets it move, absent leaves that
alone. `replaces` matches other packages' names that can't stay beside this one (a driver of another branch): when this one must be
installed they are let go and removed. All that is missing is installed by one apt-get call, so that apt can resolve a driver and its
fabric manager together.
"""

from __future__ import annotations

import re
import time

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}\Z")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~-]{0,99}\Z")
TABLE_LINE = re.compile(r"^\s(?:\*\*\*|\s{3})\s(\S+)\s+-?\d+\s*$", re.MULTILINE)


def upstream(version):
    """The part of a Debian version its author chose: no epoch, no Debian revision."""
    return version.split(":", 1)[-1].rsplit("-", 1)[0]


def matches(have, want):
    return have is not None and (not want or want in (have, upstream(have)))


def check_names(node, packages):
    for package in packages:
        if not NAME.match(package["name"]):
            node.fail("%r is no Debian package name" % package["name"])
        if package["version"] and not VERSION.match(package["version"]):
            node.fail(
                "%r is no version of %s: use letters, digits and . + : ~ -"
                % (package["version"], package["name"])
            )


def installed(node, names):
    """name -> version of what is fully installed."""
    ran = node.run(["dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\\n"] + names, limit=60)
    if ran.rc not in (0, 1):
        node.fail(
            "dpkg-query failed (rc %d): %s. Try 'dpkg --configure -a' on the node." % (ran.rc, ran.words())
        )
    found = {}
    for line in ran.out.splitlines():
        words = line.split()
        if len(words) == 5 and words[3] == "installed":
            found[words[0]] = words[4]
    return found


def offered(node, name):
    """Versions apt knows for a package, best first."""
    ran = node.run(["apt-cache", "policy", name], limit=60)
    table = ran.out.split("Version table:", 1)[-1] if "Version table:" in ran.out else ""
    return TABLE_LINE.findall(table)


def choose(node, name, want):
    """The full version that apt shall install for a wanted one."""
    for refreshed in (False, True):
        versions = offered(node, name)
        for version in versions:
            if matches(version, want):
                return version
        if not refreshed:
            node.need(
                ["apt-get", "update", "-q"],
                limit=300,
                hint="Check the node's package sources and its network.",
            )
    known = ", ".join(versions[:5]) or "no version at all"
    return node.fail(
        "apt has no %s in version %s; it offers %s. Choose one of these or add the package source."
        % (name, want, known)
    )


def install(node, targets, downgrade, limit, lock_wait):
    """One apt-get call for everything; waits for another apt to end, refreshes once when apt doesn't know a name."""
    options = ["--allow-downgrades"] if downgrade else []
    argv = ["apt-get", "install", "-y", "-q"] + options + targets
    end, refreshed = time.monotonic() + limit, False
    patience = time.monotonic() + lock_wait
    while True:
        ran = node.run(argv, limit=max(5, end - time.monotonic()))
        if ran.rc == 0:
            return
        if "Could not get lock" in ran.err and time.monotonic() + 2 < patience:
            time.sleep(2)
        elif "Unable to locate package" in ran.err and not refreshed:
            refreshed = True
            node.need(
                ["apt-get", "update", "-q"],
                limit=300,
                hint="Check the node's package sources and its network.",
            )
        else:
            node.fail(
                "%s failed (rc %d): %s" % (" ".join(argv), ran.rc, ran.words()),
                rc=ran.rc,
                stdout=ran.out[-4000:],
                stderr=ran.err[-4000:],
            )


def holds(node):
    return set(node.run(["apt-mark", "showhold"], limit=60).out.split())


def make_way(node, packages):
    """Remove what the packages about to be installed take the place of."""
    patterns = [re.compile(package["replaces"] + r"\Z") for package in packages if package["replaces"]]
    if not patterns:
        return
    ours = {package["name"] for package in packages}
    old = sorted(
        name
        for name in installed(node, [])
        if name not in ours and any(pattern.match(name) for pattern in patterns)
    )
    if old:
        make_absent(node, [{"name": name} for name in old], limit=600)


def make_present(node, packages, limit):
    names = [package["name"] for package in packages]
    have = installed(node, names)
    wrong = [package for package in packages if not matches(have.get(package["name"]), package["version"])]
    for package in wrong:
        name, old = package["name"], have.get(package["name"])
        node.note(
            "install %s %s" % (name, package["version"] or "(any version)"),
            before="%s %s" % (name, old) if old else None,
            after="%s %s" % (name, package["version"] or "(any)"),
        )
    held = holds(node) if wrong or any(package["hold"] is not None for package in packages) else set()
    make_way(node, wrong)
    if wrong and not node.dry:
        targets = [
            p["name"] + ("=" + choose(node, p["name"], p["version"]) if p["version"] else "") for p in wrong
        ]
        locked = sorted(held.intersection(p["name"] for p in wrong))
        if locked:
            node.need(["apt-mark", "unhold"] + locked, limit=60)
            held.difference_update(locked)
        install(
            node,
            targets,
            any(p["version"] and have.get(p["name"]) for p in wrong),
            limit,
            node.module.params["lock_wait"],
        )
        have = installed(node, names)
        for package in wrong:
            if not matches(have.get(package["name"]), package["version"]):
                node.fail(
                    "apt-get said yes, but %s is %s instead of %s"
                    % (
                        package["name"],
                        have.get(package["name"], "not installed"),
                        package["version"] or "installed",
                    )
                )
    keep_holds(node, packages, held)
    return have


def keep_holds(node, packages, held):
    for verb, wish in (("hold", True), ("unhold", False)):
        names = [p["name"] for p in packages if p["hold"] is wish and (p["name"] in held) is not wish]
        if names:
            node.note("%s %s" % (verb, " ".join(names)), after="%s %s" % (verb, " ".join(names)))
            if not node.dry:
                node.need(["apt-mark", verb] + names, limit=60)


def make_absent(node, packages, limit):
    names = sorted(installed(node, [package["name"] for package in packages]))
    for name in names:
        node.note("remove %s" % name, before=name)
    if names and not node.dry:
        held = sorted(holds(node).intersection(names))
        if held:
            node.need(["apt-mark", "unhold"] + held, limit=60)
        node.need(["apt-get", "remove", "-y", "-q"] + names, limit=limit)
    return {}


def main():
    package = {
        "name": {"type": "str", "required": True},
        "version": {"type": "str", "default": ""},
        "hold": {"type": "bool"},
        "replaces": {"type": "str", "default": ""},
    }
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            packages={"type": "list", "elements": "dict", "default": [], "options": package},
            names={"type": "list", "elements": "str", "default": []},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            time_limit={"type": "int", "default": 900},
            lock_wait={"type": "int", "default": 60},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    packages = module.params["packages"] + [
        {"name": name, "version": "", "hold": None, "replaces": ""} for name in module.params["names"]
    ]
    check_names(node, packages)
    if not packages:
        node.done(versions={})
    act = make_present if module.params["state"] == "present" else make_absent
    node.done(versions=act(node, packages, module.params["time_limit"]))


if __name__ == "__main__":
    main()
