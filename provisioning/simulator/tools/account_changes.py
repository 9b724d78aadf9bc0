"""What do useradd and its siblings change?

They edit the node's own /etc/passwd, /etc/group and /etc/shadow, and make and remove homes below the node's root.
"""

from __future__ import annotations

import re

from provisioning.simulator import node
from provisioning.simulator.call import Call, options
from provisioning.simulator.tools.accounts import FILES, Row, find, rows

USER_VALUES = (
    "-u",
    "--uid",
    "-g",
    "--gid",
    "-G",
    "--groups",
    "-s",
    "--shell",
    "-d",
    "--home",
    "--home-dir",
    "-c",
    "--comment",
    "-e",
    "--expiredate",
    "-k",
    "-K",
    "-p",
    "--password",
    "-b",
    "-f",
    "-l",
)


def _save(call: Call, kind: str, table: list[Row]) -> None:
    """Under the node's lock: two useradd calls must not lose each other's line."""
    text = "".join(":".join(row) + "\n" for row in table)
    call.write(FILES[kind], text, 0o640 if kind == "shadow" else 0o644)


def _option(given: dict[str, str], *names: str) -> str | None:
    return next((given[name] for name in names if name in given), None)


def _locked(call: Call, change: str) -> int:
    """Run one of the changing tools while the node's lock is held; the tables are re-read under it."""
    code: int = call.update(lambda _state: LOCKED[change](call))
    return code


def useradd(call: Call) -> int:
    """useradd [-m] [-r] [-s SHELL] [-u UID] [-g GROUP] [-G GROUPS] [-d HOME] NAME"""
    return _locked(call, "useradd")


def _useradd(call: Call) -> int:
    given, words = options(call.argv, USER_VALUES)
    name = words[0] if words else ""
    users, groups = rows(call, "passwd"), rows(call, "group")
    if not NAME.fullmatch(name):
        return call.fail(3, f"useradd: invalid user name '{name}': use --badname to ignore")
    if find(users, name) is not None:
        return call.fail(9, f"useradd: user '{name}' already exists")
    uid = _option(given, "-u", "--uid") or _free({row[2] for row in users}, system="-r" in given)
    if any(row[2] == uid for row in users):
        return call.fail(4, f"useradd: UID {uid} is not unique")
    group = _option(given, "-g", "--gid")
    extras = [word for word in (_option(given, "-G", "--groups") or "").split(",") if word]
    for wanted in [*([] if group is None else [group]), *extras]:
        if find(groups, wanted) is None:
            return call.fail(6, f"useradd: group '{wanted}' does not exist")
    gid = _group_of_new(groups, name, uid, group, system="-r" in given)
    _set_groups(groups, name, extras, keep=True)
    home = _option(given, "-d", "--home", "--home-dir") or f"/home/{name}"
    shell = _option(given, "-s", "--shell") or "/bin/sh"
    users.append([name, "x", uid, gid, _option(given, "-c", "--comment") or "", home, shell])
    _save(call, "passwd", users)
    _save(call, "group", groups)
    _save(
        call,
        "shadow",
        [*rows(call, "shadow"), [name, "!", "19700", "0", "99999", "7", "", _option(given, "-e") or "", ""]],
    )
    if "-m" in given or "--create-home" in given:
        call.make_folder(home, 0o750)
    return 0


def _group_of_new(groups: list[Row], name: str, uid: str, group: str | None, *, system: bool) -> str:
    """The number of the group named, or of a new group of the account's own."""
    known = find(groups, group) if group is not None else None
    if known is not None:
        return known[2]
    gid = uid if all(row[2] != uid for row in groups) else _free({row[2] for row in groups}, system=system)
    groups.append([name, "x", gid, ""])
    return gid


def _free(taken: set[str], *, system: bool) -> str:
    numbers = range(999, 100, -1) if system else range(1000, 60000)
    return next(str(number) for number in numbers if str(number) not in taken)


def usermod(call: Call) -> int:
    """usermod [-L|-U] [-e DATE] [-s SHELL] [-u UID] [-g GROUP] [-a] [-G GROUPS] [-d HOME] NAME"""
    return _locked(call, "usermod")


def _usermod(call: Call) -> int:
    given, words = options(call.argv, USER_VALUES)
    name = words[0] if words else ""
    users, groups, shadow = rows(call, "passwd"), rows(call, "group"), rows(call, "shadow")
    user = find(users, name)
    if user is None:
        return call.fail(6, f"usermod: user '{name}' does not exist")
    wanted = _option(given, "-G", "--groups")
    for extra in [word for word in (wanted or "").split(",") if word]:
        if find(groups, extra) is None:
            return call.fail(6, f"usermod: group '{extra}' does not exist")
    if wanted is not None:
        _set_groups(groups, name, wanted.split(","), keep="-a" in given or "--append" in given)
    group = find(groups, _option(given, "-g", "--gid") or "")
    user[2] = _option(given, "-u", "--uid") or user[2]
    user[3] = group[2] if group is not None else user[3]
    user[5] = _option(given, "-d", "--home") or user[5]
    user[6] = _option(given, "-s", "--shell") or user[6]
    line = find(shadow, name)
    if line is not None:
        line += [""] * (9 - len(line))
        expiry = _option(given, "-e", "--expiredate")
        line[7] = line[7] if expiry is None else expiry
        line[1] = (
            "!" + line[1].lstrip("!")
            if "-L" in given
            else (line[1].lstrip("!") if "-U" in given else line[1])
        )
    for kind, table in (("passwd", users), ("group", groups), ("shadow", shadow)):
        _save(call, kind, table)
    return 0


def _set_groups(groups: list[Row], name: str, wanted: list[str], *, keep: bool) -> None:
    for row in groups:
        members = [member for member in row[3].split(",") if member and (member != name or keep)]
        if row[0] in wanted and name not in members:
            members.append(name)
        row[3] = ",".join(members)


def userdel(call: Call) -> int:
    """userdel [-r] [-f] NAME"""
    return _locked(call, "userdel")


def _userdel(call: Call) -> int:
    given, words = options(call.argv)
    name = words[0] if words else ""
    users, groups = rows(call, "passwd"), rows(call, "group")
    user = find(users, name)
    if user is None or user[0] != name:
        return call.fail(6, f"userdel: user '{name}' does not exist")
    _save(call, "passwd", [row for row in users if row[0] != name])
    _save(call, "shadow", [row for row in rows(call, "shadow") if row[0] != name])
    _set_groups(groups, name, [], keep=False)
    own = [
        row
        for row in groups
        if row[0] == name and all(other[3] != row[2] or other[0] == name for other in users)
    ]
    _save(call, "group", [row for row in groups if row not in own])
    if "-r" in given or "--remove" in given:
        if not call.is_dir(user[5]):
            call.err(f"userdel: {name} home directory ({user[5]}) not found\n")
        elif _is_home(call, user[5]):
            import shutil

            shutil.rmtree(call.path(user[5]))
    return 0


def _is_home(call: Call, path: str) -> bool:
    """Only a folder below /home (or another folder of homes) is ever removed, never a system folder."""
    return node.seen_from_inside(call.node_dir, path).count("/") >= 2


def groupadd(call: Call) -> int:
    """groupadd [-g GID] [-r] [-f] NAME"""
    return _locked(call, "groupadd")


def _groupadd(call: Call) -> int:
    given, words = options(call.argv, ("-g", "--gid"))
    name = words[0] if words else ""
    groups = rows(call, "group")
    if not NAME.fullmatch(name):
        return call.fail(3, f"groupadd: '{name}' is not a valid group name")
    if find(groups, name) is not None:
        return 0 if "-f" in given else call.fail(9, f"groupadd: group '{name}' already exists")
    gid = _option(given, "-g", "--gid") or _free({row[2] for row in groups}, system="-r" in given)
    if any(row[2] == gid for row in groups):
        return call.fail(4, f"groupadd: GID '{gid}' already exists")
    _save(call, "group", [*groups, [name, "x", gid, ""]])
    return 0


def groupdel(call: Call) -> int:
    """groupdel NAME"""
    return _locked(call, "groupdel")


def _groupdel(call: Call) -> int:
    _, words = options(call.argv)
    groups = rows(call, "group")
    group = find(groups, words[0] if words else "")
    if group is None:
        return call.fail(6, f"groupdel: group '{words[0] if words else ''}' does not exist")
    user = next((row[0] for row in rows(call, "passwd") if row[3] == group[2]), None)
    if user is not None:
        return call.fail(8, f"groupdel: cannot remove the primary group of user '{user}'")
    _save(call, "group", [row for row in groups if row is not group])
    return 0


LOCKED = {
    "useradd": _useradd,
    "usermod": _usermod,
    "userdel": _userdel,
    "groupadd": _groupadd,
    "groupdel": _groupdel,
}


NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\$?")
