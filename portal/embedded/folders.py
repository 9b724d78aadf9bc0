"""Is this folder there, ours, and closed to everybody else?"""

import os
import pwd
import stat
from pathlib import Path

from portal.embedded.errors import StartError

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def ensure_private(folder: Path) -> None:
    """Make `folder` with mode 0700, or check that it is a real folder of ours and close it to others.

    Only folders that the portal alone uses come here: no permission of a parent is ever changed.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise StartError(f"{folder} should be a folder and is something else: move it away") from None
        if found.st_uid != os.geteuid():
            raise StartError(_not_ours(folder, found.st_uid)) from None
    except OSError as problem:
        raise StartError(f"The folder {folder} can't be made: {problem.strerror}") from problem
    if folder.stat().st_mode & OTHERS:
        folder.chmod(0o700)


def ensure_var(var_dir: Path) -> None:
    """Make the var folder with mode 0700; one that exists stays as it is, but it must be ours.

    An existing folder is not closed to others here, since a person chose it (it might be a home):
    what is secret lies in folders of its own below, and `manage.py doctor` speaks about the rest.
    """
    try:
        var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise StartError(f"The folder {var_dir} can't be made: {problem.strerror}") from problem
    owner = var_dir.stat().st_uid
    if owner != os.geteuid():
        raise StartError(_not_ours(var_dir, owner))


def _not_ours(folder: Path, owner: int) -> str:
    return (
        f"{folder} belongs to {user_name(owner)} and you are {user_name(os.geteuid())}: "
        f"start as {user_name(owner)}, or choose another folder with PORTAL_VAR_DIR"
    )


def user_name(uid: int) -> str:

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
