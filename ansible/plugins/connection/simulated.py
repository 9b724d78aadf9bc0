"""How does Ansible reach a simulated node? As if it were a host: commands run here, but in the node's own small world.

The node's PATH holds its stand-in tools and a few harmless tools of this machine, its home and temporary folder lie below its
root folder, and files may only be put there. When Ansible stops, for whatever reason, everything the command started stops too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.module_utils.common.text.converters import to_text
from ansible.utils.display import Display

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
    name: simulated
    short_description: run commands in the personality of a simulated GPU node
    description:
        - Runs commands on the controller with the environment of one simulated node, made by C(manage.py simulate create).
        - Puts files below the node's folder only.
        - Honours the node's faults C(unreachable) and C(hang), and its reboots.
        - Becoming another user changes nothing. Inventories set C(ansible_become=false); where a play still becomes, the node's own
          C(sudo) runs the command as it is.
    author: Quartermaster
    options:
        node_dir:
            description: The node's folder, which holds C(state.json), C(root/) and C(bin/).
            type: path
            required: true
            vars:
                - name: simulated_node_dir
        command_timeout:
            description: Seconds after which a command that gives no answer counts as a lost connection; 0 waits for ever.
            type: float
            default: 0
            vars:
                - name: simulated_command_timeout
        python_interpreter:
            description: Only named so that Ansible knows the variable.
            type: str
            vars:
                - name: ansible_python_interpreter
    extends_documentation_fragment:
        - connection_pipelining
"""

display = Display()

# The command runs in a session of its own. A watcher in the same process group reads a pipe that only this worker writes to:
# when the worker is gone, however it went, the pipe ends, and the watcher ends the group. 0 names the watcher's own group.
GUARD = """\
( trap '' TERM HUP INT; read -r _ < /dev/fd/"$1"; kill -s TERM -- 0; sleep 2; kill -s KILL -- 0 ) > /dev/null 2>&1 < /dev/null &
shift; exec /bin/sh -c "$1"
"""
HANG = "exec sleep 2147483647"
PASSED_ON = ("LANG", "LC_ALL", "TERM", "TZ")
SYSTEM_FOLDERS = r"(?:^|[\s;&|('\"=])/(?:usr/)?(?:local/)?s?bin/"


class Connection(ConnectionBase):
    """One simulated node; nothing is kept open between commands."""

    transport = "simulated"
    has_pipelining = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # `~root` would be this machine's root; every account's home begins in the node's folder instead.
        self._shell.expand_user = lambda path, username="": f"echo {self._shell.quote(self._home())}"

    # -- where the node is ------------------------------------------------------------------------------------------

    def _node_dir(self):
        folder = os.path.realpath(self.get_option("node_dir"))
        if not os.path.isfile(os.path.join(folder, "state.json")):
            raise AnsibleConnectionFailure(
                f"{folder} is no simulated node: it has no state.json. Make one with 'manage.py simulate create'."
            )
        return folder

    def _root(self):
        return os.path.join(self._node_dir(), "root")

    def _home(self):
        return os.path.join(self._root(), "root")

    def _state(self):
        try:
            with open(os.path.join(self._node_dir(), "state.json"), encoding="utf-8") as handle:
                return json.load(handle)
        except ValueError as error:
            raise AnsibleConnectionFailure(f"the simulated node's state is damaged: {error}") from error

    def _connect(self):
        self._refuse_when_away(self._state())
        self._connected = True
        return self

    def _refuse_when_away(self, state):
        """A node that is unreachable or on its way up answers as ssh does for such a host."""
        name = state.get("name", "?")
        away = state["faults"].get("unreachable")
        if away is not None:
            time.sleep(float(away["params"].get("seconds", 0)))
            raise AnsibleConnectionFailure(
                f"Failed to connect to the host via ssh: ssh: connect to host {name} port 22: Connection timed out"
            )
        if state["boot"].get("down_until", 0) > time.time():
            raise AnsibleConnectionFailure(
                f"Failed to connect to the host via ssh: ssh: connect to host {name} port 22: Connection refused"
            )

    def environment(self):
        """All that a command of the node knows. The controller's own variables stay here, except the marks of its job."""
        folder = self._node_dir()
        around = os.environ  # noqa: TID251 - a plugin runs in ansible-playbook, not in the portal
        env = {name: value for name, value in around.items() if name in PASSED_ON or name.startswith("QM_")}
        env.setdefault("LANG", "C.UTF-8")
        env.update(
            PATH=os.pathsep.join(
                [os.path.join(folder, "bin"), os.path.join(os.path.dirname(folder), ".tools")]
            ),
            HOME=self._home(),
            TMPDIR=os.path.join(self._root(), "tmp"),
            QM_NODE_DIR=folder,
            USER="root",
            LOGNAME="root",
            SHELL="/bin/sh",
        )
        return env

    # -- commands -----------------------------------------------------------------------------------------------------

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        state = self._state()
        self._refuse_when_away(state)
        command = to_text(cmd, errors="surrogate_or_strict")
        self._refuse_real_tools(command)
        hang = state["faults"].get("hang")
        if hang is not None and not hang["params"].get("tool"):
            command = HANG
        display.vvv(f"EXEC {command}", host=self._play_context.remote_addr)
        return self._run(command, in_data)

    def _refuse_real_tools(self, command):
        """A tool that has a stand-in must be called by its name: by its path it would act on this machine."""
        names = [re.escape(name) for name in os.listdir(os.path.join(self._node_dir(), "bin"))]
        found = re.search(SYSTEM_FOLDERS + "(" + "|".join(names) + r")(?![\w.-])", command)
        if found is not None and found.group(1) not in ("sudo", ".launch"):
            raise AnsibleError(
                f"{found.group(0).strip()} is this machine's own tool: on a simulated node call {found.group(1)} by its name alone"
            )

    def _run(self, command, in_data):
        reading, writing = os.pipe()
        child = None
        try:
            child = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "simulated-node", str(reading), command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment(),
                cwd=self._home(),
                start_new_session=True,
                pass_fds=(reading,),
            )
            limit = self.get_option("command_timeout")
            out, err = child.communicate(in_data, timeout=limit if limit > 0 else None)
            return child.returncode, out, err
        except subprocess.TimeoutExpired as error:
            raise AnsibleConnectionFailure(f"the simulated node gave no answer within {limit:g} s") from error
        finally:  # also when Ansible was interrupted, or a task's own timeout struck
            if child is not None:
                self._end(child)
            os.close(reading)
            os.close(writing)

    def _end(self, child):
        """End what is left of the command: politely when it was cut short, so that a module can end its own children."""
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=3)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            with contextlib.suppress(OSError):
                stream.close()

    # -- files ----------------------------------------------------------------------------------------------------------

    def _inside(self, path):
        """The real place of a file of the node; anything outside its root folder is refused."""
        root = self._root()
        place = os.path.join(
            os.path.realpath(os.path.join(root, os.path.dirname(path))), os.path.basename(path)
        )
        if os.path.islink(place):
            place = os.path.realpath(place)
        if not place.startswith(root + os.sep):
            raise AnsibleError(
                f"{path} lies outside the simulated node, whose files are below {root}: begin it with node_root"
            )
        return place

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        self._refuse_when_away(self._state())
        place = self._inside(to_text(out_path, errors="surrogate_or_strict"))
        display.vvv(f"PUT {in_path} TO {place}", host=self._play_context.remote_addr)
        if not os.path.exists(in_path):
            raise AnsibleFileNotFound(f"file or module does not exist: {in_path}")
        try:
            shutil.copyfile(in_path, place)
        except OSError as error:
            raise AnsibleError(f"failed to transfer file to {place}: {error}") from error

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        self._refuse_when_away(self._state())
        place = self._inside(to_text(in_path, errors="surrogate_or_strict"))
        display.vvv(f"FETCH {place} TO {out_path}", host=self._play_context.remote_addr)
        if not os.path.exists(place):
            raise AnsibleFileNotFound(f"file does not exist on the node: {in_path}")
        try:
            shutil.copyfile(place, out_path)
        except OSError as error:
            raise AnsibleError(f"failed to fetch file to {out_path}: {error}") from error

    def reset(self):
        self.close()

    def close(self):
        self._connected = False
