"""Which accounts and groups does the node have?"""

from __future__ import annotations

from provisioning.simulator.call import Call

FILES = {"passwd": "/etc/passwd", "group": "/etc/group", "shadow": "/etc/shadow", "hosts": "/etc/hosts"}

Row = list[str]


def rows(call: Call, kind: str) -> list[Row]:
    return [
        line.split(":") for line in call.read(FILES[kind]).splitlines() if line and not line.startswith("#")
    ]


def find(table: list[Row], key: str) -> Row | None:
    return next(
        (row for row in table if row[0] == key or (len(row) > 2 and row[2] == key and key.isdigit())), None
    )


def getent(call: Call) -> int:
    """getent passwd|group|shadow|hosts [KEY…]; exit 2 when a key is not there."""
    if not call.argv or call.argv[0] not in FILES:
        return call.fail(1, f"Unknown database: {call.argv[0] if call.argv else ''}")
    kind, keys = call.argv[0], call.argv[1:]
    if kind == "hosts":
        found = [
            line for line in call.read(FILES[kind]).splitlines() if any(key in line.split() for key in keys)
        ]
        call.out("".join(f"{line}\n" for line in found))
        return 0 if found else 2
    table, code = rows(call, kind), 0
    for row in [find(table, key) for key in keys] if keys else table:
        if row is None:
            code = 2
        else:
            call.out(":".join(row) + "\n")
    return code


def id_(call: Call) -> int:
    """id [-u|-g|-n|-G] [NAME]"""
    names = [word for word in call.argv if not word.startswith("-")]
    flags = "".join(word[1:] for word in call.argv if word.startswith("-"))
    user = find(rows(call, "passwd"), names[0] if names else "root")
    if user is None:
        return call.fail(1, f"id: '{names[0]}': no such user")
    groups = rows(call, "group")
    own = [row for row in groups if row[2] == user[3] or user[0] in row[3].split(",")]
    group_name = next((row[0] for row in groups if row[2] == user[3]), user[3])
    if "G" in flags:
        call.out(" ".join(row[0] if "n" in flags else row[2] for row in own) + "\n")
    elif "g" in flags:
        call.out(f"{group_name if 'n' in flags else user[3]}\n")
    elif "u" in flags:
        call.out(f"{user[0] if 'n' in flags else user[2]}\n")
    else:
        listed = ",".join(f"{row[2]}({row[0]})" for row in own)
        call.out(f"uid={user[2]}({user[0]}) gid={user[3]}({group_name}) groups={listed}\n")
    return 0


def whoami(call: Call) -> int:
    call.out("root\n")
    return 0


def chage(call: Call) -> int:
    """chage and passwd change nothing that a simulation needs, but know which accounts there are."""
    words = [word for word in call.argv if not word.startswith("-")]
    name = words[-1] if words else "root"
    known = find(rows(call, "passwd"), name) is not None
    return 0 if known else call.fail(1, f"{call.name}: user '{name}' does not exist")


def nothing_to_do(call: Call) -> int:
    return 0


def pkill(call: Call) -> int:
    """A simulated node runs no processes of its own: nothing matched."""
    return 1
