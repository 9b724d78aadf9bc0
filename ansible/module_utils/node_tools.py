"""How does a node module reach the node's files and tools, bounded in time and never those of another machine?

Every node module works on a real node and on a simulated one alike. Files are reached below `node_root` (like DESTDIR); tools
are called by bare name through PATH, where a simulated node's stand-ins come first. A tool that has no stand-in is refused on
a simulated node: falling through to the real `userdel` or `mount` would act on the machine that runs the portal.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NODE_ARGS = {"node_root": {"type": "str", "default": ""}}
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
ENVIRONMENT = dict(os.environ)  # noqa: TID251 - this file runs on the node, where there is no portal to ask
SHARED = ("nfs", "lustre", "beegfs", "gpfs", "ceph", "wekafs", "cifs", "fuse", "9p", "virtiofs", "glusterfs")
FIRST_PERSON = 1000  # the first uid of a person on Debian; below it are the system's own
MISSING = 127
TIMED_OUT = 124


class Ran:
    """What a tool answered: its exit code and its two texts, already decoded."""

    def __init__(self, argv, rc, out, err):
        self.argv, self.rc, self.out, self.err = argv, rc, out, err

    def words(self):
        """The tool's own last words, which is what a person needs first."""
        text = (self.err.strip() or self.out.strip()) or "no message"
        return " | ".join(line.strip() for line in text.splitlines()[-6:] if line.strip())[:1500]


class Node:
    """The node a module works on, and the changes the module made or would make."""

    def __init__(self, module):
        self.module = module
        self.root = (module.params.get("node_root") or "").rstrip("/")
        self.dry = module.check_mode
        self.changes = []
        self.before, self.after = [], []
        if self.root and not os.path.isdir(self.root):
            self.fail("node_root %s is not a folder: create the simulated node first" % self.root)

    # -- endings ------------------------------------------------------------------------------------------------------

    def fail(self, message, **data):
        self.module.fail_json(msg=message, changes=self.changes, **data)

    def done(self, **data):
        result = {"changed": bool(self.changes), "changes": self.changes}
        if self.before or self.after:
            result["diff"] = {"before": "".join(self.before), "after": "".join(self.after)}
        result.update(data)
        self.module.exit_json(**result)

    def note(self, change, before=None, after=None):
        """Remember one change; `before` and `after` are what --diff shows."""
        self.changes.append(change)
        if before is not None or after is not None:
            self.before.append("%s\n" % before if before else "")
            self.after.append("%s\n" % after if after else "")

    # -- tools --------------------------------------------------------------------------------------------------------

    def tool(self, name):
        """The full path of a tool, or None. On a simulated node only its own stand-ins count."""
        folders = [part for part in ENVIRONMENT.get("PATH", "").split(os.pathsep) if part]
        if not self.root:
            folders += [part for part in SYSTEM_PATH if part not in folders]
            return shutil.which(name, path=os.pathsep.join(folders))
        # Ansible itself may put folders before ours, so look at every folder and take only what belongs to this node.
        home = os.path.realpath(ENVIRONMENT.get("QM_NODE_DIR") or os.path.dirname(self.root))
        own = [part for part in folders if os.path.realpath(part).startswith(home + os.sep)]
        return shutil.which(name, path=os.pathsep.join(own)) if own else None

    def run(self, argv, limit=60, missing_ok=False):
        """Run a tool without a shell for at most `limit` seconds; kill its whole process group after that."""
        path = self.tool(argv[0])
        if path is None:
            if missing_ok:
                return Ran(argv, MISSING, "", "%s is not installed" % argv[0])
            where = "as a stand-in on this simulated node" if self.root else "on PATH"
            self.fail(
                "%s is not there %s: install it or fix PATH, then run the job again" % (argv[0], where),
                tool=argv[0],
            )
        env = dict(
            ENVIRONMENT,
            LC_ALL="C",
            LANG="C",
            DEBIAN_FRONTEND="noninteractive",
            APT_LISTCHANGES_FRONTEND="none",
        )
        if not self.root:
            env["PATH"] = os.pathsep.join([env.get("PATH", "")] + list(SYSTEM_PATH))
        try:
            child = subprocess.Popen(
                [path] + list(argv[1:]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            return Ran(argv, 126, "", "%s could not be started: %s" % (path, error))
        try:
            out, err = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            _end_group(child)
            return Ran(
                argv, TIMED_OUT, "", "%s gave no answer within %d s and was stopped" % (" ".join(argv), limit)
            )
        return Ran(argv, child.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def need(self, argv, limit=60, hint=""):
        """Run a tool that must succeed; end the module with the tool's own words when it does not."""
        ran = self.run(argv, limit)
        if ran.rc != 0:
            advice = " %s" % hint if hint else ""
            self.fail(
                "%s failed (rc %d): %s.%s" % (" ".join(argv), ran.rc, ran.words(), advice),
                rc=ran.rc,
                stdout=ran.out[-4000:],
                stderr=ran.err[-4000:],
            )
        return ran

    def until(self, ready, limit, every=1.0):
        """Poll `ready()` until it is true or `limit` seconds are over; say whether it became true."""
        end = time.monotonic() + limit
        while not ready():
            if time.monotonic() >= end:
                return False
            time.sleep(min(every, max(0.05, end - time.monotonic())))
        return True

    # -- files --------------------------------------------------------------------------------------------------------

    def path(self, name):
        """Where a node's absolute path lies on this machine."""
        if not name.startswith("/") or ".." in name.split("/") or "\0" in name or "\n" in name:
            self.fail("%r is not an absolute path without '..'" % name)
        return self.root + os.path.normpath(name)

    def read(self, name):
        """The text of a file of the node, or None when there is none."""
        try:
            with open(self.path(name), encoding="utf-8", errors="surrogateescape") as handle:
                return handle.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return self.fail("can't read %s: %s" % (name, error))

    def write(self, name, text, mode=0o644, secret=False, owner=None):
        """Make a file hold exactly this text and mode; True when that needed a change."""
        path, old = self.path(name), self.read(name)
        same_mode = old is not None and (os.stat(path).st_mode & 0o7777) == mode
        if old == text and same_mode:
            return False
        shown = ("(not shown)\n", "(not shown)\n") if secret else (old or "", text)
        self.changes.append("write %s" % name)
        self.before.append("--- %s\n%s" % (name, shown[0]))
        self.after.append("--- %s\n%s" % (name, shown[1]))
        if not self.dry:
            try:
                self._replace(path, text, mode, owner)
            except OSError as error:
                self.fail("can't write %s: %s" % (name, error))
        return True

    def _replace(self, path, text, mode, owner):
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".quartermaster-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(temporary, mode)
            self.give(temporary, owner)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise

    def give(self, path, owner):
        """Hand a file to an account. A simulated node's accounts don't exist on this machine, so there it is left alone."""
        if owner is not None and not self.root:
            os.chown(path, owner[0], owner[1], follow_symlinks=False)

    def remove(self, name):
        """Remove a file or an empty folder of the node; True when there was one."""
        path = self.path(name)
        if not os.path.lexists(path):
            return False
        self.note("remove %s" % name, before=name)
        if not self.dry:
            try:
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            except OSError as error:
                self.fail("can't remove %s: %s" % (name, error))
        return True

    def is_shared(self, name):
        """Whether a path lies on storage that other nodes see too."""
        best = ("", "")
        for line in (self.read("/proc/self/mounts") or "").splitlines():
            words = line.split()
            inside = len(words) > 2 and (name + "/").startswith(words[1].rstrip("/") + "/")
            if inside and len(words[1]) >= len(best[0]):
                best = (words[1], words[2])
        return best[1].startswith(SHARED)

    def remove_tree(self, name):
        """Remove a folder with all it holds, or a file; True when there was one."""
        path = self.path(name)
        if os.path.islink(path) or not os.path.isdir(path):
            return self.remove(name)
        self._refuse_mounts(name, path, include_top=True)
        self.note("remove %s" % name, before=name)
        if not self.dry:
            try:
                shutil.rmtree(path)
            except OSError as error:
                self.fail("can't remove %s: %s" % (name, error))
        return True

    def empty(self, name, people_only=False):
        """Remove what a folder holds; with `people_only` just what accounts of people own. True when there was anything."""
        path = self.path(name)
        if os.path.islink(path) or not os.path.isdir(path):
            return False
        least = FIRST_PERSON if people_only and not self.root else 0
        entries = [
            entry
            for entry in os.scandir(path)
            if entry.stat(follow_symlinks=False).st_uid >= least and not _is_ours(entry.path)
        ]
        if not entries:
            return False
        if self.is_shared(name):
            self.fail(
                "%s is storage that other nodes see too: it is not emptied; take it off the list" % name
            )
        self._refuse_mounts(name, path, include_top=False)
        self.note("empty %s" % name, before="%s: %d entries" % (name, len(entries)))
        try:
            for entry in [] if self.dry else entries:
                shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
        except OSError as error:
            self.fail("can't empty %s: %s" % (name, error))
        return True

    def _refuse_mounts(self, name, path, include_top):
        mounts = _mounts_below(path, include_top)
        if mounts:
            self.fail(
                "%s still has something mounted (%s): unmount it first, so that no shared data is deleted"
                % (name, ", ".join(mounts[:3]))
            )


def _is_ours(path):
    """Whether this very module runs from below a path: Ansible unpacks it in a temporary folder."""
    here = os.path.realpath(path) + os.sep
    return any((os.path.realpath(place) + os.sep).startswith(here) for place in sys.path if place)


def _mounts_below(path, include_top):
    device = os.lstat(path).st_dev
    if include_top and os.path.ismount(path):
        return [path]
    found = []
    for folder, names, _files in os.walk(path):
        for name in list(names):
            child = os.path.join(folder, name)
            if not os.path.islink(child) and (os.lstat(child).st_dev != device or os.path.ismount(child)):
                found.append(child)
                names.remove(name)
    return found


def _end_group(child):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.communicate(timeout=3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
        return
