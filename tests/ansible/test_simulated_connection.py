"""Is a simulated node a host like any other to real Ansible, and does nothing done to it touch this machine?"""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader, init_plugin_loader
from ansible.utils.collection_loader import AnsibleCollectionConfig

from provisioning.simulator import faults, fleet, node
from provisioning.simulator.inventory import inventory
from tests.ansible.conftest import ANSIBLE

BIN = Path(sys.executable).parent

TELLER = """
import json, os
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, "stdout", "teller"
    def tell(self, result, **more):
        with open(os.environ["TOLD"], "a") as out:
            line = {**json.loads(self._dump_results(result._result)), **more}
            out.write(json.dumps([result.task.get_name(), result.host.get_name(), line]) + chr(10))
    def v2_runner_on_ok(self, result): self.tell(result)
    def v2_runner_on_failed(self, result, ignore_errors=False): self.tell(result, failed=True)
    def v2_runner_on_unreachable(self, result): self.tell(result, unreachable=True)
    def v2_runner_on_skipped(self, result): self.tell(result, skipped=True)
"""


class Lab:
    """Three simulated nodes and a way to run Ansible against them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = fleet.create(folder / "fleet", count=3, sku="h100-sxm5-80g", seed=7)
        self.inventory = folder / "hosts.json"
        self.inventory.write_text(json.dumps(inventory(folder / "fleet")))
        (folder / "home").mkdir()
        (folder / "callbacks").mkdir()
        (folder / "callbacks/teller.py").write_text(TELLER)
        self.env = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_LOCAL_TEMP": str(folder / "home/tmp"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_STDOUT_CALLBACK": "teller",
            "ANSIBLE_CALLBACK_PLUGINS": str(folder / "callbacks"),
            "TOLD": str(folder / "told"),
            "A_SECRET": "hunter2",
        }

    def play(
        self, *tasks: dict[str, Any], hosts: str = "targets", check: bool = False, **play: Any
    ) -> tuple[int, dict[str, Any]]:
        """Exit code and what came of it: {task name: {host: result}}."""
        command = self.command(*tasks, hosts=hosts, **play) + (["--check"] if check else [])
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=180, check=False
        )
        assert (self.folder / "told").exists(), done.stdout + done.stderr
        told: dict[str, Any] = {}
        for line in (self.folder / "told").read_text().splitlines():
            name, host, result = json.loads(line)
            told.setdefault(name, {})[host] = result
        return done.returncode, told

    def command(self, *tasks: dict[str, Any], hosts: str = "targets", **play: Any) -> list[str]:
        book = self.folder / "play.yml"
        book.write_text(
            json.dumps([{"name": "Try", "hosts": hosts, "gather_facts": False, "tasks": list(tasks), **play}])
        )
        return [str(BIN / "ansible-playbook"), "-i", str(self.inventory), str(book)]

    def left(self) -> list[str]:
        """Command lines of what still runs of this lab."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder).encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    assert soon(lambda: made.left() == []), made.left()


def soon(what: Callable[[], Any], seconds: float = 12.0) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(what())


@pytest.fixture(scope="session")
def plugins() -> None:
    """Ansible's plugin loader may be set up once per process."""
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    connection_loader.add_directory(str(ANSIBLE / "plugins/connection"))


@pytest.fixture
def connection(plugins: None, tmp_path: Path) -> Any:
    """The plugin itself, connected to one node, without a whole ansible-playbook around it."""
    node_dir = fleet.create(tmp_path / "fleet", count=1, sku="h100-sxm5-80g", seed=7)[0]
    made = connection_loader.get("simulated", PlayContext())
    made.set_options(var_options={"simulated_node_dir": str(node_dir)})
    made.node_dir = node_dir
    return made


def run(connection: Any, command: str, data: bytes | None = None) -> tuple[int, str, str]:
    rc, out, err = connection.exec_command(command, in_data=data)
    return rc, out.decode(), err.decode()


# -- with real Ansible -------------------------------------------------------------------------------------------------------


@pytest.mark.ansible
def test_three_nodes_answer_the_probe_in_one_task_each(lab: Lab) -> None:
    code, told = lab.play(
        {
            "name": "Probe the node",
            "gpu_probe": {
                "node": "{{ node_name }}",
                "node_root": "{{ node_root }}",
                "gpu_count": "{{ gpu_count }}",
                "simulated": "{{ simulated }}",
                "repeats": 2,
                "time_limit": 60,
            },
        }
    )
    assert code == 0
    probes = {host: result["probe"] for host, result in told["Probe the node"].items()}

    assert set(probes) == {"gpu-001", "gpu-002", "gpu-003"}
    for host, probe in probes.items():
        state = node.read_state(lab.folder / "fleet" / host)
        assert (probe["node"], probe["boot_id"], probe["simulated"]) == (host, state["boot"]["id"], True)
        assert {(row["outcome"], row["rc"]) for row in probe["evidence"]} == {("ran", 0)}
        assert len(probe["evidence"]) == 12 + 4 * 2
        listed = gzip.decompress(
            base64.b64decode(
                next(row for row in probe["evidence"] if row["id"] == "nvidia-smi-xml")["stdout"]
            )
        )
        assert all(gpu["uuid"].encode() in listed for gpu in state["gpus"])


@pytest.mark.ansible
def test_collective_is_measured_from_the_first_node_over_all(lab: Lab) -> None:
    hosts = [{"name": f"gpu-00{number}", "address": f"10.77.0.{number + 1}"} for number in (1, 2, 3)]
    code, told = lab.play(
        {
            "name": "Measure the collective",
            "collective_probe": {
                "node": "gpu-001",
                "node_root": "{{ node_root }}",
                "hosts": hosts,
                "repeats": 1,
                "simulated": True,
            },
        },
        hosts="gpu-001",
    )
    row = told["Measure the collective"]["gpu-001"]["probe"]["evidence"][0]

    assert (code, row["rc"]) == (0, 0)
    assert gzip.decompress(base64.b64decode(row["stdout"])).count(b"#  Rank") == 24


@pytest.mark.ansible
def test_files_and_becoming_root_stay_below_the_node(lab: Lab) -> None:
    code, told = lab.play(
        {
            "name": "Write",
            "ansible.builtin.copy": {
                "dest": "{{ node_root }}/etc/qm.conf",
                "content": "x = 1\n",
                "mode": "0600",
            },
        },
        {
            "name": "Line",
            "ansible.builtin.lineinfile": {"path": "{{ node_root }}/etc/qm.conf", "line": "y = 2"},
        },
        {"name": "Who", "ansible.builtin.shell": "whoami; echo $HOME; pwd; echo ${A_SECRET:-none}; hostname"},
        {"name": "Unlock", "ansible.builtin.command": "whoami", "vars": {"ansible_become": True}},
        {"name": "Read", "ansible.builtin.slurp": {"src": "{{ node_root }}/etc/qm.conf"}},
        hosts="gpu-002",
        become=True,
    )
    root = (lab.folder / "fleet/gpu-002/root").resolve()

    assert code == 0, told
    assert (root / "etc/qm.conf").read_text() == "x = 1\ny = 2\n"
    assert told["Who"]["gpu-002"]["stdout_lines"] == [
        "root",
        f"{root}/root",
        f"{root}/root",
        "none",
        "gpu-002",
    ]
    assert told["Unlock"]["gpu-002"]["stdout"] == "root"
    assert (root / "root/.ansible/tmp").is_dir()
    assert base64.b64decode(told["Read"]["gpu-002"]["content"]) == b"x = 1\ny = 2\n"


@pytest.mark.ansible
def test_unreachable_and_broken_nodes_end_as_real_ones_do(lab: Lab) -> None:
    faults.inject(lab.nodes[0], "unreachable")
    faults.inject(lab.nodes[1], "tool-missing", tool="uname")
    code, told = lab.play({"name": "Ask", "ansible.builtin.command": "uname -n"})

    assert code == 4
    assert told["Ask"]["gpu-001"]["unreachable"] is True
    assert "Connection timed out" in told["Ask"]["gpu-001"]["msg"]
    assert told["Ask"]["gpu-002"]["failed"] is True
    assert told["Ask"]["gpu-003"]["stdout"] == "gpu-003"


@pytest.mark.ansible
def test_hanging_node_is_given_up_by_the_tasks_own_limit(lab: Lab) -> None:
    faults.inject(lab.nodes[0], "hang")
    code, told = lab.play({"name": "Ask", "ansible.builtin.command": "uname -n", "timeout": 12})

    assert code == 2
    assert "12 second" in told["Ask"]["gpu-001"]["msg"]
    assert told["Ask"]["gpu-002"]["stdout"] == "gpu-002"


@pytest.mark.ansible
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_runs_on_when_ansible_is_stopped(lab: Lab, number: signal.Signals) -> None:
    pids = lab.nodes[0] / "root/tmp/pids"
    task = {
        "name": "Work",
        "ansible.builtin.shell": f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait",
    }
    with subprocess.Popen(
        lab.command(task, hosts="gpu-001"), env=lab.env, cwd=lab.folder, stdout=subprocess.DEVNULL
    ) as playbook:
        assert soon(lambda: pids.exists() and len(pids.read_text().split()) == 2, 60)
        workers = children(playbook.pid)
        playbook.send_signal(number)
        if (
            number is signal.SIGKILL
        ):  # since 2.19 the workers live in sessions of their own and survive their parent
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        playbook.wait(30)

    assert soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split())), (
        lab.left()
    )


def children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


@pytest.mark.ansible
def test_node_is_away_while_it_boots_and_then_another_boot(lab: Lab) -> None:
    before = node.read_state(lab.nodes[0])["boot"]["id"]
    code, told = lab.play(
        {"name": "Reboot", "ansible.builtin.command": "reboot"},
        {"name": "Away", "ansible.builtin.command": "uname -n", "ignore_unreachable": True},
        {"name": "Wait", "ansible.builtin.wait_for_connection": {"timeout": 40, "sleep": 1}},
        {"name": "Boot", "ansible.builtin.command": "cat {{ node_root }}/proc/sys/kernel/random/boot_id"},
        hosts="gpu-001",
    )

    assert code == 0, told
    assert "Connection refused" in told["Away"]["gpu-001"]["msg"]
    assert told["Boot"]["gpu-001"]["stdout"] != before


# -- the plugin by itself --------------------------------------------------------------------------------------------------


def test_command_sees_the_nodes_own_world(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAL_SECRET_KEY", "s3cret")
    monkeypatch.setenv("QM_JOB", "J-12/1")
    rc, out, _ = run(connection, "uname -n; env")
    told = dict(line.split("=", 1) for line in out.splitlines()[1:] if "=" in line)
    root = connection.node_dir.resolve() / "root"

    assert rc == 0
    assert out.splitlines()[0] == "gpu-001"
    assert "PORTAL_SECRET_KEY" not in told
    assert (told["HOME"], told["TMPDIR"], told["QM_NODE_DIR"], told["QM_JOB"]) == (
        f"{root}/root",
        f"{root}/tmp",
        str(connection.node_dir.resolve()),
        "J-12/1",
    )
    assert (
        told["PATH"] == f"{connection.node_dir.resolve()}/bin:{connection.node_dir.resolve().parent}/.tools"
    )


def test_input_and_all_three_answers_pass_through(connection: Any) -> None:
    assert run(connection, "cat; echo oops >&2; exit 3", b"given\n") == (3, "given\n", "oops\n")


def test_home_of_any_account_is_below_the_node(connection: Any) -> None:
    for account in ("", "root", "ubuntu"):
        command = connection._shell._expand_user2("~", account).command
        assert run(connection, command)[1] == f"{connection.node_dir.resolve()}/root/root\n"


@pytest.mark.parametrize(
    "command",
    [
        "/sbin/reboot",
        "/usr/sbin/useradd -m x",
        "cd / && /bin/mount -a",
        "X=1 /usr/bin/apt-get update",
        "sh -c '/usr/bin/systemctl stop ssh'",
        'sh -c "/sbin/shutdown -r now"',
        "true;/usr/sbin/userdel x",
        "$(/bin/umount /x)",
        "/usr/local/bin/nvidia-smi",
    ],
)
def test_this_machines_own_tools_are_refused_by_path(connection: Any, command: str) -> None:
    with pytest.raises(AnsibleError, match="by its name alone"):
        run(connection, command)


@pytest.mark.parametrize(
    "command",
    [
        "/bin/sh -c 'echo ok'",
        "echo /sbin/rebooting",
        "echo ok; /bin/echo /etc/mount",
        "ls /usr/sbin/reboot.d; echo",
    ],
)
def test_harmless_commands_are_not_refused(connection: Any, command: str) -> None:
    assert run(connection, command)[0] == 0


def test_what_a_command_leaves_behind_ends_with_it(connection: Any) -> None:
    rc, out, _ = run(connection, "sleep 300 > /dev/null 2>&1 & echo $!")

    assert rc == 0
    assert soon(lambda: not Path(f"/proc/{out.strip()}").exists())


def test_command_limit_counts_as_a_lost_connection(connection: Any) -> None:
    connection.set_option("command_timeout", 0.5)
    started = time.monotonic()

    with pytest.raises(AnsibleConnectionFailure, match=r"no answer within 0\.5 s"):
        run(connection, "exec sleep 300")
    assert time.monotonic() - started < 6


def test_interrupt_ends_the_command(connection: Any) -> None:
    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    pid = connection.node_dir / "root/tmp/pid"
    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, 0.8)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(connection, f"echo $$ > {pid}; exec sleep 300")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert soon(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


@pytest.mark.parametrize("place", ["{root}/etc/x.conf", "{root}/tmp/../etc/x.conf", "etc/x.conf"])
def test_files_are_put_and_fetched_below_the_node(connection: Any, tmp_path: Path, place: str) -> None:
    root = connection.node_dir.resolve() / "root"
    (tmp_path / "given").write_text("one")
    connection.put_file(str(tmp_path / "given"), place.format(root=root))
    connection.fetch_file(place.format(root=root), str(tmp_path / "back"))

    assert (root / "etc/x.conf").read_text() == (tmp_path / "back").read_text() == "one"


@pytest.mark.parametrize(
    "place",
    [
        "/etc/x.conf",
        "{root}/../state.json",
        "{root}/../../gpu-002/root/etc/x",
        "../state.json",
        "{root}/etc/out/x",
        "{root}",
        "{root}/etc/link",
    ],
)
def test_files_outside_the_node_are_refused_both_ways(connection: Any, tmp_path: Path, place: str) -> None:
    root = connection.node_dir.resolve() / "root"
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x").write_text("keep")
    (root / "etc/out").symlink_to(tmp_path / "out")
    (root / "etc/link").symlink_to(tmp_path / "out/x")
    (tmp_path / "given").write_text("one")
    state = (connection.node_dir / "state.json").read_bytes()

    for move in (
        lambda path: connection.put_file(str(tmp_path / "given"), path),
        lambda path: connection.fetch_file(path, str(tmp_path / "back")),
    ):
        with pytest.raises(AnsibleError, match="outside the simulated node"):
            move(place.format(root=root))
    assert (connection.node_dir / "state.json").read_bytes() == state
    assert (tmp_path / "out/x").read_text() == "keep"
    assert not (tmp_path / "back").exists()


def test_missing_files_are_told(connection: Any, tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match="does not exist"):
        connection.put_file(str(tmp_path / "none"), "etc/x")
    with pytest.raises(AnsibleError, match="does not exist"):
        connection.fetch_file("etc/none", str(tmp_path / "back"))


@pytest.mark.parametrize("act", ["exec", "put", "fetch"])
@pytest.mark.parametrize("away", ["unreachable", "boot"])
def test_node_that_is_away_refuses_everything(connection: Any, tmp_path: Path, act: str, away: str) -> None:
    (tmp_path / "given").write_text("one")
    if away == "unreachable":
        faults.inject(connection.node_dir, "unreachable")
    else:
        node.update(connection.node_dir, lambda state: state["boot"].update(down_until=time.time() + 60))
    acts = {
        "exec": lambda: run(connection, "true"),
        "put": lambda: connection.put_file(str(tmp_path / "given"), "etc/x"),
        "fetch": lambda: connection.fetch_file("etc/passwd", str(tmp_path / "back")),
    }

    with pytest.raises(AnsibleConnectionFailure, match="port 22"):
        acts[act]()


def test_folder_that_is_no_node_is_said_to_be_none(connection: Any, tmp_path: Path) -> None:
    connection.set_option("node_dir", str(tmp_path))

    with pytest.raises(AnsibleConnectionFailure, match="no simulated node"):
        run(connection, "true")


def test_damaged_state_is_a_lost_connection(connection: Any) -> None:
    (connection.node_dir / "state.json").write_text("{")

    with pytest.raises(AnsibleConnectionFailure, match="damaged"):
        run(connection, "true")
