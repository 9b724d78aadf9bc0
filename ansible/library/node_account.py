#!/usr/bin/python
"""Who of the team may log in to this node, with exactly which keys?

accounts: [{name, keys, uid}]. The list is exact: a key that is not in it goes, and an account that an earlier run made and that
is no longer in it loses its keys and expires; its home stays until the node is wiped. What an earlier run made is written in
/var/lib/quartermaster/accounts.json, so that an account of the site (or of the system) is never taken over or deleted.
With state=absent every such account goes, with home, crontab and group.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
import struct

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

RECORD = "/var/lib/quartermaster/accounts.json"
NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")
GROUP = re.compile(r"team-[a-z0-9][a-z0-9-]{0,26}\Z")
KEY_TYPES = {
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
}
SECOND_FILE = "authorized_keys2"  # sshd reads this one too, by default
IN_USE = 8  # what userdel answers while the account has processes


def key_complaint(key):
    """Why a line is no plain public key, or None. Options before the key (command=, from=) are refused on purpose."""
    if not key.isprintable() or len(key) > 16384:
        return "a key is one printable line of at most 16384 characters"
    words = key.split(" ", 2)
    if words[0] not in KEY_TYPES:
        return "a key begins with its type, one of %s" % ", ".join(sorted(KEY_TYPES))
    try:
        blob = base64.b64decode(words[1] if len(words) > 1 else "", validate=True)
        (size,) = struct.unpack(">I", blob[:4])
    except (binascii.Error, struct.error, ValueError):
        return "the part after the type is no base64 of a key"
    if blob[4 : 4 + size] != words[0].encode("ascii") or len(blob) < 4 + size + 36:
        return "the key's data is not a whole %s key" % words[0]
    return None


def check(node, accounts, group):
    if group is not None and not GROUP.match(group):
        node.fail("%r is no team group: 'team-' and then lower-case letters, digits and dashes" % group)
    names = [account["name"] for account in accounts]
    for account in accounts:
        name = account["name"]
        if not NAME.match(name) or name == "root" or names.count(name) > 1:
            node.fail(
                "%r is no usable account name: it must be unique, begin with a-z or _, and have at most 32 characters of "
                "a-z, 0-9, _ and -" % name
            )
        for number, key in enumerate(account["keys"], 1):
            complaint = key_complaint(key)
            if complaint:
                node.fail("key %d of account %s is refused: %s" % (number, name, complaint))


def recorded(node):
    """What earlier runs made here: two sets, accounts and groups."""
    try:
        kept = json.loads(node.read(RECORD) or "{}")
        return {"accounts": set(kept.get("accounts", [])), "groups": set(kept.get("groups", []))}
    except (ValueError, AttributeError):
        return node.fail(
            "%s on the node is not readable as JSON: repair it, or wipe the node by hand" % RECORD
        )


def record(node, ours):
    node.write(
        RECORD, json.dumps({kind: sorted(names) for kind, names in sorted(ours.items())}) + "\n", mode=0o600
    )


def passwd(node, name):
    """The passwd fields of an account, or None."""
    ran = node.run(["getent", "passwd", name], limit=15)
    fields = ran.out.strip().split(":")
    return fields if ran.rc == 0 and len(fields) == 7 else None


def has_group(node, group):
    return node.run(["getent", "group", group], limit=15).rc == 0


def ensure_group(node, group):
    if has_group(node, group):
        return
    node.note("add group %s" % group, after="group %s" % group)
    if not node.dry:
        node.need(["groupadd", group], limit=30)


def ensure_account(node, account, group, ours):
    name, uid = account["name"], account["uid"]
    entry = passwd(node, name)
    if entry is not None and name not in ours:
        node.fail(
            "account %s exists on this node and was not made by Quartermaster: give the person another account name"
            % name
        )
    if entry is None:
        node.note("add account %s" % name, after="account %s" % name)
        if node.dry:
            return
        number = ["-u", str(uid)] if uid is not None else []
        node.need(
            ["useradd", "-m", "-s", "/bin/bash"] + number + ["-g", group, name],
            limit=60,
            hint="If the number is taken, the portal and this node disagree about who has it.",
        )
        entry = passwd(node, name) or node.fail("useradd said yes, but getent doesn't know %s" % name)
    elif uid is not None and entry[2] != str(uid):
        node.fail(
            "account %s has uid %s here and should have %s: wipe the node first" % (name, entry[2], uid)
        )
    write_keys(node, name, entry, account["keys"])


def write_keys(node, name, entry, keys):
    """Write the keys without following any link: the home belongs to its user, who could point .ssh at root's."""
    owner, home = (int(entry[2]), int(entry[3])), entry[5]
    text = "".join("%s\n" % key for key in keys)
    try:
        home_fd = os.open(node.path(home), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        return node.fail("the home %s of %s can't be opened: %s" % (home, name, error))
    try:
        if os.fstat(home_fd).st_mode & 0o7777 != 0o700:
            node.note("close home %s" % home, before="%s open" % home, after="%s 0700" % home)
            if not node.dry:
                os.fchmod(home_fd, 0o700)
        old = _read_keys(home_fd)
        if old == text:
            return None
        node.note("keys of %s: %d" % (name, len(keys)), before=old, after=text)
        if not node.dry:
            _replace_keys(node, home_fd, text, owner)
    except OSError as error:
        node.fail("the keys of %s can't be written: %s. Is %s/.ssh a link?" % (name, error, home))
    finally:
        os.close(home_fd)


def _read_keys(home_fd):
    """What the file holds now; None when it must be written anew: it is missing, too open, a link, or not the only one."""
    try:
        ssh_fd = os.open(".ssh", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=home_fd)
    except FileNotFoundError:
        return None
    try:
        handle = os.open("authorized_keys", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=ssh_fd)
        with os.fdopen(handle, encoding="utf-8", errors="replace") as keys:
            tight = (
                os.fstat(keys.fileno()).st_mode & 0o7777 == 0o600
                and os.fstat(ssh_fd).st_mode & 0o7777 == 0o700
            )
            return keys.read() if tight and SECOND_FILE not in os.listdir(ssh_fd) else None
    except OSError:
        return None
    finally:
        os.close(ssh_fd)


def _replace_keys(node, home_fd, text, owner):
    with contextlib.suppress(FileExistsError):
        os.mkdir(".ssh", 0o700, dir_fd=home_fd)
    ssh_fd = os.open(".ssh", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=home_fd)
    try:
        os.fchmod(ssh_fd, 0o700)
        temporary = ".authorized_keys.quartermaster"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=ssh_fd)
        handle = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=ssh_fd
        )
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            if not node.root:
                os.fchown(out.fileno(), owner[0], owner[1])
                os.fchown(ssh_fd, owner[0], owner[1])
        os.replace(temporary, "authorized_keys", src_dir_fd=ssh_fd, dst_dir_fd=ssh_fd)
        if SECOND_FILE in os.listdir(ssh_fd):
            os.unlink(SECOND_FILE, dir_fd=ssh_fd)
    finally:
        os.close(ssh_fd)


def retire(node, name):
    """Someone left the team: no key opens the account and it is expired; what is in the home is the team's and stays."""
    entry = passwd(node, name)
    if entry is None or node.read(os.path.join(entry[5], ".ssh/authorized_keys")) in (None, ""):
        return
    write_keys(node, name, entry, [])
    if not node.dry:
        node.need(["usermod", "-e", "1", name], limit=30)


def remove_account(node, name, force):
    entry = passwd(node, name)
    node.remove("/var/spool/cron/crontabs/%s" % name)
    if entry is None:
        return
    if int(entry[2]) < 1000:
        node.fail("account %s has the system uid %s: it is not removed" % (name, entry[2]))
    node.note("remove account %s" % name, before="account %s" % name)
    if node.dry:
        return
    shared = node.is_shared(entry[5])  # deleting it here would delete it everywhere
    argv = ["userdel"] + ([] if shared else ["-r"]) + [name]
    ran = node.run(argv, limit=120)
    if ran.rc == IN_USE and force:
        node.run(["pkill", "-KILL", "-u", entry[2]], limit=15)
        ran = node.run(argv, limit=120)
    if ran.rc == IN_USE:
        node.fail(
            "account %s still has processes: %s. End them, or run again with wipe_force."
            % (name, ran.words())
        )
    if passwd(node, name) is not None:
        node.fail("%s failed (rc %d): %s" % (" ".join(argv), ran.rc, ran.words()))
    if not shared:
        node.remove_tree(entry[5])


def make_present(node, accounts, group):
    ours, names = recorded(node), {account["name"] for account in accounts}
    for name in sorted(ours["accounts"] - names):
        retire(node, name)
    if not accounts:
        return
    new = {account["name"] for account in accounts if passwd(node, account["name"]) is None}
    if new - ours["accounts"] or not has_group(
        node, group
    ):  # written down before it is made: a broken run must know its own
        ours["accounts"].update(new)
        ours["groups"].add(group)
        record(node, ours)
    ensure_group(node, group)
    for account in accounts:
        ensure_account(node, account, group, ours["accounts"])


def make_absent(node, accounts, force):
    ours = recorded(node)
    for account in accounts:
        if account["name"] not in ours["accounts"] and passwd(node, account["name"]) is not None:
            node.fail(
                "account %s exists on this node and was not made by Quartermaster: remove it by hand if it must go"
                % account["name"]
            )
    for name in sorted(ours["accounts"]):
        remove_account(node, name, force)
    for group in sorted(ours["groups"]):
        if has_group(node, group):
            node.note("remove group %s" % group, before="group %s" % group)
            if not node.dry:
                node.need(["groupdel", group], limit=30)
    node.remove(RECORD)


def main():
    account = {
        "name": {"type": "str", "required": True},
        "keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
        "uid": {"type": "int"},
    }
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            accounts={"type": "list", "elements": "dict", "required": True, "options": account},
            group={"type": "str"},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            force={"type": "bool", "default": False},
        ),
        required_if=[("state", "present", ["group"])],
        supports_check_mode=True,
    )
    node = Node(module)
    wanted = module.params
    check(node, wanted["accounts"], wanted["group"])
    if wanted["state"] == "present":
        make_present(node, wanted["accounts"], wanted["group"])
    else:
        make_absent(node, wanted["accounts"], wanted["force"])
    node.done()


if __name__ == "__main__":
    main()
