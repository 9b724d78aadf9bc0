"""What is a host that is reached by real SSH? A simulated node's folder with an sshd of its own on a loopback address.

The server runs in namespaces of its own: what a session starts ends with the server, whatever it does, and the account's home is
the node's, so that nothing of this machine is touched or left behind. SSH, keys, accounts and sessions are the real ones.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from portal.embedded import processes
from provisioning.simulator import launchers

STARTS_WITHIN = 20.0
NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# An ordinary user may mount in a user namespace of its own as long as it keeps that namespace's capabilities.
OF_A_USER = ("--user", "--map-current-user", "--keep-caps")
# Only the server sees these accounts and this /run. As root sshd insists on an empty /run/sshd, which this machine may lack.
# Standard input is a pipe that ends with the tests, however these ended; so does the server, the first process of its namespace.
ENTER = """\
set -e
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then mount -t tmpfs tmpfs /run; mkdir -m 0755 /run/sshd; fi
exec 3<&0
( read -r _ || kill -s TERM 1 ) <&3 &
exec "$2" -D -e -f "$1/sshd_config" -E "$1/log" 3<&- </dev/null
"""
CONFIG = """\
ListenAddress {address}:{port}
AddressFamily inet
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/pid
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserRC no
PrintMotd no
PrintLastLog no
MaxStartups 200:30:400
MaxSessions 200
LogLevel VERBOSE
Subsystem sftp internal-sftp
SetEnv {environment}
"""


def why_not() -> str:
    """Why no sshd can be started here; "" when one can."""
    if sys.platform != "linux":
        return "hosts behind real SSH need Linux namespaces"
    missing = [tool for tool in ("ssh", "ssh-keygen", "unshare", "mount") if shutil.which(tool) is None]
    if missing or server() is None:
        return f"real SSH needs {', '.join(missing) or 'sshd'}: install openssh-server"
    tried = subprocess.run(
        [*_namespaces(), "sh", "-c", "mount --bind /etc/passwd /etc/passwd"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return f"no namespace for an sshd: {tried.stderr.strip()}" if tried.returncode else ""


def server() -> str | None:
    """Where sshd is; it wants to be called by its full path."""
    return shutil.which("sshd", path=os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/usr/local/sbin"]))


def _namespaces() -> list[str]:
    return ["unshare", *(() if os.geteuid() == 0 else OF_A_USER), *NAMESPACES, "--"]


def make_key(file: Path) -> Path:
    """A new key pair at `file` and `file`.pub."""
    for old in (file, file.with_name(f"{file.name}.pub")):
        old.unlink(missing_ok=True)
    kind = ["-t", "ecdsa"] if file.name.endswith("ecdsa") else ["-t", "ed25519"]
    subprocess.run(["ssh-keygen", "-q", *kind, "-N", "", "-C", "test", "-f", str(file)], check=True)
    return file


def account() -> str:
    """Who the tests log in as: whoever runs them, because only root could become anybody else."""
    return pwd.getpwuid(os.geteuid()).pw_name


def free_port(address: str) -> int:
    """A port of `address` that nobody listens on."""
    with socket.socket() as asked:
        asked.bind((address, 0))
        port: int = asked.getsockname()[1]
        return port


@dataclass
class Sshd:
    """One node behind an sshd. `folder` is the simulated node's, `own` holds what belongs to the server."""

    folder: Path
    own: Path
    address: str
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def home(self) -> Path:
        return self.folder / "root" / "root"

    @property
    def log(self) -> str:
        """What the server wrote."""
        file = self.own / "log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def start(self, authorized: Path) -> None:
        """Serve; the owner of the key pair `authorized` may come in."""
        self.own.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port(self.address)
        if not (self.own / "host_key").exists():
            make_key(self.own / "host_key")
        self.let_in(authorized)
        self._write_accounts()
        (self.own / "sshd_config").write_text(
            CONFIG.format(
                address=self.address, port=self.port, folder=self.own, environment=self._environment()
            )
        )
        path = server()
        assert path is not None
        words = [*_namespaces(), "sh", "-c", ENTER, "sshd-of-a-node", str(self.own), path]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if not processes.wait_until(self._answers, STARTS_WITHIN):
            said = self.stop()
            raise AssertionError(f"sshd of {self.folder.name} did not start: {said}{self.log}")

    def stop(self) -> str:
        """End it and all it started; what it complained about."""
        if self._process is None:
            return ""
        self._process.kill()  # the kernel takes all that is in its namespace along
        _, said = self._process.communicate(timeout=20)
        self._process = None
        return said.decode(errors="replace")

    def let_in(self, pair: Path) -> None:
        """From now on this key pair, and no other, opens the door."""
        public = pair.with_name(f"{pair.name}.pub").read_text()
        (self.own / "authorized_keys").write_text(public)

    def change_host_key(self, authorized: Path, *, kind: str = "ed25519") -> None:
        """Become another machine at the same address."""
        self.stop()
        made = make_key(self.own / f"new_{kind}")
        made.replace(self.own / "host_key")
        self.start(authorized)

    def commands(self, word: str) -> list[int]:
        """Processes on the node whose command line holds `word`."""
        return [each.pid for each in self.processes() if word in " ".join(processes.command_line(each.pid))]

    def processes(self) -> list[psutil.Process]:
        """Every process of the node, its server first."""
        if self._process is None:
            return []
        return list(psutil.Process(self._process.pid).children(recursive=True))

    def sessions(self) -> list[int]:
        """Processes that serve a connection."""
        return self.commands("@notty")

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            return False
        try:
            with socket.create_connection((self.address, self.port), timeout=2) as line:
                return line.recv(4) == b"SSH-"
        except OSError:
            return False

    def _environment(self) -> str:
        """What the simulated connection gives its commands: the node's own tools come first, and nothing else is found."""
        told = {
            "PATH": launchers.search_path(self.folder),
            "HOME": self.home,
            "TMPDIR": self.folder / "root" / "tmp",
            "QM_NODE_DIR": self.folder,
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
        }
        return " ".join(f'"{name}={value}"' for name, value in told.items())

    def _write_accounts(self) -> None:
        """The machine's accounts, but ours lives on the node; none has a password."""
        lines = []
        for each in pwd.getpwall():
            home, shell = (
                (str(self.home), "/bin/sh") if each.pw_name == account() else (each.pw_dir, each.pw_shell)
            )
            lines.append(f"{each.pw_name}:x:{each.pw_uid}:{each.pw_gid}::{home}:{shell}\n")
        if not any(line.startswith("sshd:") for line in lines):
            lines.append("sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
        (self.own / "passwd").write_text("".join(lines))
        shadow = self.own / "shadow"
        shadow.write_text("".join(f"{line.split(':')[0]}:*:19000:0:99999:7:::\n" for line in lines))
        shadow.chmod(0o600)
