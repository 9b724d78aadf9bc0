"""Does node_account give a team exactly its accounts and keys, and never touch an account that isn't its own?"""

from __future__ import annotations

import base64
import json
import struct

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode


def key(number: int = 1, comment: str = "") -> str:
    blob = struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", 32) + bytes([number]) * 32
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}{' ' + comment if comment else ''}"


@pytest.fixture
def account_node(tool_node: ToolNode) -> ToolNode:
    """A node whose passwd and group are the files of its root."""
    tool_node.put(
        "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n"
    )
    tool_node.put("/etc/group", "root:x:0:\n")
    (tool_node.root / "home").mkdir()
    tool_node.tool("getent", 'grep "^$2:" "$D/root/etc/$1" || exit 2')
    tool_node.tool("groupadd", 'echo "$1:x:5000:" >> "$D/root/etc/group"')
    tool_node.tool("groupdel", 'sed -i "/^$1:/d" "$D/root/etc/group"')
    tool_node.tool(
        "useradd",
        """
uid=2001
while [ $# -gt 1 ]; do case $1 in -u) uid=$2; shift 2 ;; -s|-g) shift 2 ;; *) shift ;; esac; done
mkdir -m 755 "$D/root/home/$1"; echo "$1:x:$uid:5000::/home/$1:/bin/bash" >> "$D/root/etc/passwd" """,
    )
    tool_node.tool(
        "userdel",
        """
[ -f "$D/in_use" ] && { echo "userdel: user $2 is currently used by process 4711" >&2; exit 8; }
[ "$1" = -r ] && { shift; rm -r "$D/root/home/$1"; }
sed -i "/^$1:/d" "$D/root/etc/passwd" """,
    )
    tool_node.tool("usermod")
    tool_node.tool("pkill", 'rm -f "$D/in_use"')
    return tool_node


def give(node: ToolNode, accounts: dict[str, list[str]], **more: object) -> dict[str, object]:
    return node.run(
        "node_account",
        accounts=[{"name": name, "keys": keys} for name, keys in accounts.items()],
        group="team-vision",
        **more,
    )


def keys_of(node: ToolNode, name: str) -> str:
    return node.text(f"/home/{name}/.ssh/authorized_keys")


def test_member_gets_an_account_with_exactly_the_keys(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key(1, "ada@laptop"), key(2)]})

    assert "useradd -m -s /bin/bash -g team-vision ada" in account_node.log
    assert keys_of(account_node, "ada") == f"{key(1, 'ada@laptop')}\n{key(2)}\n"
    home = account_node.root / "home/ada"
    assert [path.stat().st_mode & 0o777 for path in (home, home / ".ssh", home / ".ssh/authorized_keys")] == [
        0o700,
        0o700,
        0o600,
    ]


def test_second_run_changes_nothing(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()], "grace": []})

    assert give(account_node, {"ada": [key()], "grace": []})["changed"] is False


def test_key_that_somebody_added_is_removed(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()]})
    with (account_node.root / "home/ada/.ssh/authorized_keys").open("a") as keys:
        keys.write(key(9) + "\n")
    account_node.put("/home/ada/.ssh/authorized_keys2", key(8) + "\n")

    assert give(account_node, {"ada": [key()]})["changed"] is True
    assert keys_of(account_node, "ada") == key() + "\n"
    assert not (account_node.root / "home/ada/.ssh/authorized_keys2").exists()


def test_member_who_left_loses_keys_but_not_the_home(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()], "grace": [key(2)]})
    account_node.put("/home/grace/results.txt", "42")

    give(account_node, {"ada": [key()]})

    assert keys_of(account_node, "grace") == ""
    assert "usermod -e 1 grace" in account_node.log
    assert account_node.text("/home/grace/results.txt") == "42"
    assert give(account_node, {"ada": [key()]})["changed"] is False


def test_account_of_the_site_is_never_taken_over(account_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match="ubuntu exists on this node and was not made by Quartermaster"):
        give(account_node, {"ubuntu": [key()]})


def test_wipe_leaves_no_account_home_crontab_or_group(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()], "grace": [key(2)]})
    account_node.put("/var/spool/cron/crontabs/ada", "* * * * * /bin/true\n")

    account_node.run("node_account", state="absent", accounts=[{"name": "ada"}])

    assert "ada" not in account_node.text("/etc/passwd")
    assert "grace" not in account_node.text("/etc/passwd")
    assert list((account_node.root / "home").iterdir()) == []
    assert "team-vision" not in account_node.text("/etc/group")
    assert not (account_node.root / "var/spool/cron/crontabs/ada").exists()
    assert not (account_node.root / "var/lib/quartermaster/accounts.json").exists()
    assert account_node.run("node_account", state="absent", accounts=[{"name": "ada"}])["changed"] is False


def test_wipe_refuses_an_account_it_did_not_make(account_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match="ubuntu exists on this node"):
        account_node.run("node_account", state="absent", accounts=[{"name": "ubuntu"}])
    assert "ubuntu" in account_node.text("/etc/passwd")


def test_wipe_keeps_a_home_that_other_nodes_share(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()]})
    account_node.put("/proc/self/mounts", "/dev/md0 / ext4 rw 0 0\nnas:/home /home nfs4 rw 0 0\n")
    account_node.put("/home/ada/results.txt", "42")

    account_node.run("node_account", state="absent", accounts=[])

    assert "userdel ada" in account_node.log
    assert account_node.text("/home/ada/results.txt") == "42"


def test_wipe_stops_at_running_processes_unless_forced(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()]})
    (account_node.folder / "in_use").touch()

    with pytest.raises(ModuleFailed, match="ada still has processes.*process 4711.*wipe_force"):
        account_node.run("node_account", state="absent", accounts=[])
    account_node.run("node_account", state="absent", accounts=[], force=True)

    assert "pkill -KILL -u 2001" in account_node.log
    assert "ada" not in account_node.text("/etc/passwd")


def test_home_that_points_elsewhere_is_not_followed(account_node: ToolNode) -> None:
    give(account_node, {"ada": [key()]})
    secret = account_node.root / "root/.ssh"
    secret.mkdir(parents=True)
    ssh = account_node.root / "home/ada/.ssh"
    (ssh / "authorized_keys").unlink()
    ssh.rmdir()
    ssh.symlink_to(secret)

    with pytest.raises(ModuleFailed, match="keys of ada can't be written"):
        give(account_node, {"ada": [key(), key(2)]})
    assert list(secret.iterdir()) == []


@pytest.mark.parametrize(
    "bad",
    [
        key() + "\n" + key(2),
        'command="/bin/sh" ' + key(),
        "ssh-ed25519 AAAA",
        "ssh-dss " + key().split()[1],
        "ssh-rsa " + key().split()[1],
        "{{ lookup('pipe','touch PWNED') }}",
        key(1, "evil\u202etxt"),
        key(1, "nul\0"),
        "",
        key(1, "x" * 20000),
    ],
)
def test_line_that_is_no_plain_key_is_refused_before_anything_is_made(
    account_node: ToolNode, bad: str
) -> None:
    with pytest.raises(ModuleFailed, match="key 1 of account ada is refused"):
        give(account_node, {"ada": [bad]})
    assert account_node.log == []


@pytest.mark.parametrize(
    "name", ["root", "Ada", "-r", "a b", "a:b", "ada\n", "../x", "", "a" * 33, "{{ 7*7 }}"]
)
def test_name_that_is_no_account_is_refused(account_node: ToolNode, name: str) -> None:
    with pytest.raises(ModuleFailed, match="no usable account name"):
        give(account_node, {name: [key()]})
    assert account_node.log == []


def test_template_text_in_a_comment_stays_text(account_node: ToolNode) -> None:
    line = key(1, "{{ lookup('pipe','touch PWNED') }}")
    give(account_node, {"ada": [line]})

    assert keys_of(account_node, "ada") == line + "\n"


def test_check_mode_makes_nothing(account_node: ToolNode) -> None:
    assert give(account_node, {"ada": [key()]}, check=True)["changed"] is True

    assert list((account_node.root / "home").iterdir()) == []
    assert not (account_node.root / "var").exists()


def test_number_of_an_account_is_kept_the_same_on_every_node(account_node: ToolNode) -> None:
    account_node.run("node_account", accounts=[{"name": "ada", "uid": 20007}], group="team-vision")

    assert "useradd -m -s /bin/bash -u 20007 -g team-vision ada" in account_node.log
    with pytest.raises(ModuleFailed, match="has uid 20007 here and should have 20008"):
        account_node.run("node_account", accounts=[{"name": "ada", "uid": 20008}], group="team-vision")


def test_run_that_broke_after_useradd_knows_its_own_account(account_node: ToolNode) -> None:
    good = (account_node.bin / "useradd").read_text()
    account_node.tool("useradd", good.split("\n", 3)[3] + "\nexit 12")
    with pytest.raises(ModuleFailed, match="useradd .* failed"):
        give(account_node, {"ada": [key()]})

    give(account_node, {"ada": [key()]})

    assert keys_of(account_node, "ada") == key() + "\n"
    assert json.loads(account_node.text("/var/lib/quartermaster/accounts.json")) == {
        "accounts": ["ada"],
        "groups": ["team-vision"],
    }
