"""Do the stand-ins for the system's own tools remember what they were told, and refuse as the real ones do?"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.provisioning.simulator.conftest import SimNode

DRIVER = "nvidia-driver-570-server"


# -- services -----------------------------------------------------------------------------------------------------------


def test_service_is_stopped_started_and_disabled(sim: SimNode) -> None:
    assert sim.ask("systemctl", "is-active", "chrony").out == "active\n"
    sim.ask("systemctl", "stop", "chrony")
    said = sim.ask("systemctl", "is-active", "chrony")
    assert (said.rc, said.out) == (3, "inactive\n")
    assert sim.ask("chronyc", "-c", "tracking").rc == 1
    sim.ask("systemctl", "disable", "chrony.service")
    assert (
        sim.ask("systemctl", "is-enabled", "chrony").rc,
        sim.ask("systemctl", "is-enabled", "chrony").out,
    ) == (1, "disabled\n")
    sim.ask("systemctl", "enable", "--now", "chronyd")
    assert sim.ask("systemctl", "is-active", "chrony").rc == 0


def test_unknown_unit_is_refused_as_systemd_does(sim: SimNode) -> None:
    assert sim.ask("systemctl", "start", "nope").rc == 5
    assert "Unit nope.service not found" in sim.ask("systemctl", "start", "nope").err
    assert sim.ask("systemctl", "enable", "nope").rc == 1
    assert sim.ask("systemctl", "is-active", "nope").rc == 3
    assert sim.ask("systemctl", "show", "nope", "-p", "LoadState").out == "LoadState=not-found\n"


def test_unit_file_that_a_role_wrote_is_a_unit(sim: SimNode) -> None:
    sim.put("/etc/systemd/system/exporter.service", "[Service]\nExecStart=/bin/true\n")

    assert sim.ask("systemctl", "daemon-reload").rc == 0
    assert sim.ask("systemctl", "enable", "--now", "exporter").rc == 0
    assert (
        sim.ask("systemctl", "show", "exporter", "-p", "ActiveState,UnitFileState").out
        == "ActiveState=active\nUnitFileState=enabled\n"
    )


def test_masked_unit_does_not_start(sim: SimNode) -> None:
    sim.ask("systemctl", "mask", "cron")
    sim.ask("systemctl", "stop", "cron")

    assert "is masked" in sim.ask("systemctl", "start", "cron").err
    sim.ask("systemctl", "unmask", "cron")
    assert sim.ask("systemctl", "start", "cron").rc == 0


def test_fabric_manager_of_another_version_than_the_driver_fails(sim: SimNode) -> None:
    sim.ask("apt-get", "install", "-y", "nvidia-fabricmanager-570=570.195.03-1")
    sim.ask("systemctl", "stop", "nvidia-fabricmanager")

    assert sim.ask("systemctl", "start", "nvidia-fabricmanager").rc == 1
    assert sim.ask("systemctl", "is-failed", "nvidia-fabricmanager").rc == 0
    assert "system not yet initialized" in sim.ask("gpu-gemm").err


# -- packages ------------------------------------------------------------------------------------------------------------


def test_package_is_installed_in_the_version_asked_for(sim: SimNode) -> None:
    layout = "${Package} ${Status} ${Version}\\n"
    assert sim.ask("dpkg-query", "-W", "-f", layout, "containerd").rc == 1
    assert sim.ask("apt-get", "install", "-y", "-q", "containerd=1.7.22-1").rc == 0
    assert (
        sim.ask("dpkg-query", "-W", "-f", layout, "containerd").out
        == "containerd install ok installed 1.7.22-1\n"
    )
    assert "*** 1.7.22-1 500\n" in sim.ask("apt-cache", "policy", "containerd").out
    assert sim.ask("systemctl", "is-active", "containerd").rc == 0
    sim.ask("apt-get", "remove", "-y", "containerd")
    assert "no packages found matching containerd" in sim.ask("dpkg-query", "-W", "containerd").err


def test_policy_shows_what_is_there_and_what_is_offered(sim: SimNode) -> None:
    lines = sim.ask("apt-cache", "policy", "munge").out.splitlines()

    assert lines[:5] == [
        "munge:",
        "  Installed: (none)",
        "  Candidate: 0.5.14-6",
        "  Version table:",
        "     0.5.14-6 500",
    ]
    versions = sim.ask("apt-cache", "policy", DRIVER).out
    assert " *** 570.172.08-0ubuntu0.22.04.1 500\n" in versions
    assert "     570.195.03-0ubuntu0.22.04.1 500\n" in versions
    assert "550." not in versions


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["No_Such"], "Unable to locate package No_Such"),
        (["jq=latest"], "Version 'latest' for 'jq' was not found"),
        ([f"{DRIVER}=570.86.15-1"], "downgraded and -y was used"),
    ],
)
def test_install_is_refused_as_apt_does(sim: SimNode, words: list[str], message: str) -> None:
    before = sim.state["packages"]
    said = sim.ask("apt-get", "install", "-y", *words)

    assert said.rc == 100
    assert message in said.err
    assert sim.state["packages"] == before


def test_held_package_is_not_changed(sim: SimNode) -> None:
    assert sim.ask("apt-mark", "hold", DRIVER).rc == 0
    assert sim.ask("apt-mark", "showhold").out == f"{DRIVER}\n"
    assert "Held packages were changed" in sim.ask("apt-get", "install", "-y", f"{DRIVER}=570.195.03-1").err
    sim.ask("apt-mark", "unhold", DRIVER)
    assert sim.ask("apt-get", "install", "-y", f"{DRIVER}=570.195.03-1").rc == 0


def test_simulated_install_changes_nothing(sim: SimNode) -> None:
    before = sim.state
    assert sim.ask("apt-get", "install", "-s", "-y", "jq").rc == 0
    assert sim.state == before


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("lock", "Could not get lock"),
        ("hash", "Hash Sum mismatch"),
        ("unmet", "held broken"),
        ("space", "enough free space"),
    ],
)
def test_failing_apt_says_why(sim: SimNode, kind: str, words: str) -> None:
    sim.inject("apt-fails", kind=kind)

    assert sim.ask("apt-get", "update").rc == (100 if kind == "hash" else 0)
    said = sim.ask("apt-get", "install", "-y", "jq")
    assert (said.rc, words in said.err) == (100, True)


# -- driver ------------------------------------------------------------------------------------------------------------


def test_new_driver_is_not_the_loaded_one_until_the_module_is_exchanged(sim: SimNode) -> None:
    sim.ask("apt-get", "install", "-y", f"{DRIVER}=570.195.03-0ubuntu0.22.04.1")
    assert sim.ask("nvidia-smi").rc == 18
    assert "570.172.08" in sim.text("/proc/driver/nvidia/version")

    for name in ("nvidia_uvm", "nvidia_modeset", "nvidia"):
        assert sim.ask("modprobe", "-r", name).rc == 0
    assert sim.ask("nvidia-smi").rc == 9
    sim.ask("modprobe", "nvidia")

    assert (
        sim.ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").out == "570.195.03\n" * 8
    )
    assert "570.195.03" in sim.text("/proc/driver/nvidia/version")


def test_new_driver_is_loaded_by_a_reboot(sim: SimNode) -> None:
    sim.ask("apt-get", "install", "-y", f"{DRIVER}=570.195.03-0ubuntu0.22.04.1")
    sim.ask("reboot")

    assert sim.ask("nvidia-smi", "-L").rc == 0
    assert "570.195.03" in sim.text("/proc/driver/nvidia/version")


# -- kernel --------------------------------------------------------------------------------------------------------------


def test_sysctl_is_read_and_written(sim: SimNode) -> None:
    assert sim.ask("sysctl", "-n", "vm.swappiness").out == "60\n"
    assert sim.ask("sysctl", "-w", "vm.swappiness=1").out == "vm.swappiness = 1\n"
    assert sim.ask("sysctl", "-n", "vm.swappiness").out == "1\n"
    said = sim.ask("sysctl", "-n", "no.such.key")
    assert (said.rc, "cannot stat /proc/sys/no/such/key" in said.err) == (255, True)


def test_modules_bring_what_they_need_and_stay_while_needed(sim: SimNode) -> None:
    assert sim.ask("modprobe", "nvidia-peermem").rc == 0
    listed = sim.ask("lsmod").out.splitlines()
    assert [line.split()[0] for line in listed][:2] == ["Module", "nvidia_peermem"]
    assert "nvidia_peermem" in next(line for line in listed if line.startswith("nvidia ")).split()[3]
    assert sim.ask("rmmod", "nvidia").rc == 1
    assert "not found in directory /lib/modules/5.15.0-122-generic" in sim.ask("modprobe", "no_such").err
    assert sim.ask("modprobe", "-n", "msr").rc == 0
    assert "msr" not in sim.state["modules"]


def test_uname_and_hostname_name_the_node(sim: SimNode) -> None:
    assert sim.ask("uname", "-r").out == "5.15.0-122-generic\n"
    assert sim.ask("uname", "-n").out == sim.ask("hostname").out == "gpu-001\n"
    assert sim.ask("uname", "-a").out.startswith("Linux gpu-001 5.15.0-122-generic #132")


def test_reboot_makes_a_new_boot(sim: SimNode) -> None:
    sim.inject("xid-94")
    sim.ask("systemctl", "disable", "cron")
    before = sim.state["boot"]
    sim.ask("shutdown", "-r", "now")
    after = sim.state["boot"]

    assert after["id"] != before["id"]
    assert sim.text("/proc/sys/kernel/random/boot_id") == after["id"] + "\n"
    assert time.time() < after["down_until"] < time.time() + 5
    assert sim.ask("systemctl", "is-active", "cron").rc == 3
    assert sim.ask("systemctl", "is-active", "chrony").rc == 0


def test_node_that_was_switched_off_stays_off(sim: SimNode) -> None:
    sim.ask("poweroff")

    assert sim.state["boot"]["down_until"] > 1e11


# -- mounts -------------------------------------------------------------------------------------------------------------


def test_mount_follows_fstab_and_survives_a_reboot(sim: SimNode) -> None:
    sim.put("/etc/fstab", sim.text("/etc/fstab") + "filer:/data /mnt/data nfs4 rw,hard,nosuid,_netdev 0 0\n")
    assert sim.ask("mount", "/mnt/data").err == "mount: /mnt/data: mount point does not exist.\n"
    (sim.root / "mnt/data").mkdir()
    assert sim.ask("mount", "/mnt/data").rc == 0
    assert sim.ask("mount", "/mnt/data").rc == 32

    one = json.loads(sim.ask("findmnt", "-J", "/mnt/data").out)["filesystems"]
    assert one == [
        {
            "target": "/mnt/data",
            "source": "filer:/data",
            "fstype": "nfs4",
            "options": "rw,hard,nosuid,relatime",
        }
    ]
    tree = json.loads(sim.ask("findmnt", "-J").out)["filesystems"]
    assert [item["target"] for item in tree] == ["/"]
    assert "/mnt/data" in [item["target"] for item in tree[0]["children"]]

    sim.ask("reboot")
    assert sim.ask("mountpoint", "-q", "/mnt/data").rc == 0
    assert sim.ask("umount", "/mnt/data").rc == 0
    assert sim.ask("findmnt", "-J", "/mnt/data").rc == 1
    assert sim.ask("umount", "/mnt/data").err == "umount: /mnt/data: not mounted.\n"


def test_mount_takes_the_path_on_this_machine_too(sim: SimNode) -> None:
    (sim.root / "srv/x").mkdir()
    whole = str(sim.root.resolve() / "srv/x")

    assert sim.ask("mount", "-t", "nfs", "filer:/x", whole).rc == 0
    assert sim.ask("findmnt", "-n", "-o", "TARGET", whole).out == "/srv/x\n"


def test_mount_without_an_entry_is_refused(sim: SimNode) -> None:
    assert sim.ask("mount", "/srv").err == "mount: /srv: can't find in /etc/fstab.\n"
    assert sim.ask("mount", "-a").rc == 0


def test_busy_mount_is_not_taken_away(sim: SimNode) -> None:
    assert "target is busy" in sim.ask("umount", "/").err
    assert sim.ask("umount", "/").rc == 32


# -- accounts -------------------------------------------------------------------------------------------------------------


def test_account_is_made_with_a_home_and_taken_away(sim: SimNode) -> None:
    assert sim.ask("groupadd", "team-vision").rc == 0
    assert (
        sim.ask("useradd", "-m", "-s", "/bin/bash", "-u", "2001", "-g", "team-vision", "researcher").rc == 0
    )
    assert (
        sim.ask("getent", "passwd", "researcher").out
        == "researcher:x:2001:1000::/home/researcher:/bin/bash\n"
    )
    assert (
        sim.ask("id", "researcher").out
        == "uid=2001(researcher) gid=1000(team-vision) groups=1000(team-vision)\n"
    )
    assert (sim.root / "home/researcher").is_dir()
    assert sim.ask("groupdel", "team-vision").rc == 8
    (sim.root / "home/researcher/notes").write_text("x")
    assert sim.ask("userdel", "-r", "researcher").rc == 0
    assert not (sim.root / "home/researcher").exists()
    assert sim.ask("getent", "passwd", "researcher").rc == 2
    assert sim.ask("groupdel", "team-vision").rc == 0


@pytest.mark.parametrize(
    ("argv", "rc", "words"),
    [
        (("useradd", "root"), 9, "already exists"),
        (("useradd", "Bad Name"), 3, "invalid user name"),
        (("useradd", "-g", "nope", "a"), 6, "does not exist"),
        (("useradd", "-u", "0", "a"), 4, "not unique"),
        (("userdel", "nobody-here"), 6, "does not exist"),
        (("groupadd", "root"), 9, "already exists"),
        (("groupdel", "nope"), 6, "does not exist"),
        (("usermod", "-L", "nope"), 6, "does not exist"),
        (("id", "nope"), 1, "no such user"),
    ],
)
def test_account_tools_refuse_as_the_real_ones_do(
    sim: SimNode, argv: tuple[str, ...], rc: int, words: str
) -> None:
    before = sim.text("/etc/passwd") + sim.text("/etc/group")
    said = sim.ask(*argv)

    assert (said.rc, words in said.err) == (rc, True)
    assert sim.text("/etc/passwd") + sim.text("/etc/group") == before


def test_account_is_locked_and_expired(sim: SimNode) -> None:
    sim.ask("useradd", "-m", "member")
    sim.ask("usermod", "-L", "-e", "1", "-a", "-G", "docker", "member")

    assert sim.ask("getent", "shadow", "member").out.split(":")[1::6] == ["!", "1"]
    assert sim.ask("id", "-nG", "member").out == "docker member\n"


def test_home_outside_the_node_is_never_removed(sim: SimNode) -> None:
    outside = sim.folder.parent / "outside"
    (outside / "keep").mkdir(parents=True)
    sim.ask("useradd", "-d", f"/..{outside}", "member")
    (sim.root / "home/linked").symlink_to(outside)
    sim.ask("useradd", "-d", "/home/linked", "other")

    assert [sim.ask("userdel", "-r", name).rc for name in ("member", "other")] == [0, 0]
    assert (outside / "keep").is_dir()


def test_accounts_made_at_the_same_time_are_all_kept(sim: SimNode) -> None:
    names = [f"user{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda name: sim.run(f"useradd -m {name}").rc, names))

    assert codes == [0] * 8
    rows = [row.split(":") for row in sim.text("/etc/passwd").splitlines()]
    assert {row[0] for row in rows} >= set(names)
    assert len({row[2] for row in rows}) == len(rows)


# -- scheduler --------------------------------------------------------------------------------------------------------------


def test_node_joins_drains_resumes_and_leaves(sim: SimNode) -> None:
    assert (
        sim.ask("scontrol", "show", "node", "gpu-001").rc,
        sim.ask("scontrol", "show", "node", "gpu-001").out,
    ) == (1, "Node gpu-001 not found\n")
    sim.ask("scontrol", "create", "NodeName=gpu-001", "State=FUTURE", "Gres=gpu:8")
    assert "State=FUTURE " in sim.ask("scontrol", "show", "node", "gpu-001").out
    sim.ask("scontrol", "update", "NodeName=gpu-001", "State=RESUME")
    assert "State=IDLE " in sim.ask("scontrol", "show", "node=gpu-001").out
    assert sim.ask("scontrol", "update", "NodeName=gpu-001", "State=DRAIN").rc == 1
    sim.ask("scontrol", "update", "NodeName=gpu-001", "State=DRAIN", "Reason=release of a cluster")
    shown = sim.ask("scontrol", "show", "node", "gpu-001").out
    assert "State=IDLE+DRAIN " in shown
    assert "Reason=release of a cluster [root@" in shown
    assert (
        sim.ask("sinfo", "-h", "-n", "gpu-001", "-o", "%n %t %E").out
        == "gpu-001 drain release of a cluster\n"
    )
    sim.ask("scontrol", "update", "NodeName=gpu-001", "State=RESUME")
    assert "Reason" not in sim.ask("scontrol", "show", "node", "gpu-001").out
    assert sim.ask("scontrol", "delete", "NodeName=gpu-001").rc == 0
    assert sim.ask("sinfo", "-h").out == ""


def test_scheduler_knows_the_neighbours(trio: list[SimNode]) -> None:
    for sim in trio[:2]:
        sim.ask("scontrol", "create", f"NodeName={sim.folder.name}")

    assert trio[2].ask("sinfo", "-h", "-o", "%n %T").out == "gpu-001 idle\ngpu-002 idle\n"
    assert trio[2].ask("scontrol", "update", "NodeName=gpu-[001-002]", "State=DRAIN", "Reason=x").rc == 0
    assert trio[0].ask("sinfo", "-h", "-o", "%t").out == "drain\ndrain\n"
    assert "Invalid node name" in trio[0].ask("scontrol", "update", "NodeName=../gpu-001", "State=RESUME").err


# -- several nodes ---------------------------------------------------------------------------------------------------------


def _busbw(text: str) -> float:
    return float(text.split("# Avg bus bandwidth    :")[1].split()[0])


CLUSTER = (
    "mpirun",
    "-np",
    "24",
    "-H",
    "gpu-001:8,gpu-002:8,10.77.0.4:8",
    "all_reduce_perf",
    "-b",
    "1G",
    "-e",
    "8G",
    "-f",
    "2",
    "-g",
    "1",
)


def test_slowest_node_sets_the_pace_of_the_cluster(trio: list[SimNode]) -> None:
    healthy = _busbw(trio[0].ask(*CLUSTER).out)
    trio[2].inject("ib-rate")
    slow = trio[0].ask(*CLUSTER).out

    assert healthy == pytest.approx(360, rel=0.03)
    assert _busbw(slow) == pytest.approx(180, rel=0.03)
    assert slow.count("on    gpu-003 device") == 8


@pytest.mark.parametrize("host", ["gpu-404", "../gpu-001", "192.0.2.1", ".tools"])
def test_unknown_host_ends_the_launcher_before_anything_is_measured(trio: list[SimNode], host: str) -> None:
    said = trio[0].ask(
        "mpirun",
        "-np",
        "16",
        "-H",
        f"gpu-001:8,{host}:8",
        "all_reduce_perf",
        "-b",
        "1G",
        "-e",
        "8G",
        "-g",
        "1",
    )

    assert said.rc == 1
    assert "busbw" not in said.out
    assert f"ssh: connect to host {host} port 22" in said.err


@pytest.mark.parametrize("fault", ["unreachable", "hang"])
def test_host_that_does_not_answer_ends_the_launcher(trio: list[SimNode], fault: str) -> None:
    trio[1].inject(fault)

    assert "ORTE was unable" in trio[0].ask(*CLUSTER).err


def test_fewer_processes_than_slots_use_the_first_nodes(trio: list[SimNode]) -> None:
    said = trio[0].ask("mpirun", "-np", "16", *CLUSTER[3:])

    assert said.out.count("#  Rank") == 16
    assert "gpu-003" not in said.out


# -- containers -------------------------------------------------------------------------------------------------------------


def test_container_toolkit_writes_below_the_node(sim: SimNode) -> None:
    assert sim.ask("nvidia-ctk", "--version").rc == 127
    sim.ask("apt-get", "install", "-y", "nvidia-container-toolkit")
    assert sim.ask("nvidia-ctk", "runtime", "configure", "--runtime=docker").rc == 0
    assert (
        json.loads(sim.text("/etc/docker/daemon.json"))["runtimes"]["nvidia"]["path"]
        == "nvidia-container-runtime"
    )
    assert "nvidia.com/gpu=7" in sim.ask("nvidia-ctk", "cdi", "list").out


@pytest.mark.parametrize("size", ["0", "x", "", "8G"])
def test_all_reduce_refuses_sizes_that_are_none(sim: SimNode, size: str) -> None:
    said = sim.ask("all_reduce_perf", "-b", size, "-e", "1G", "-g", "8")

    assert (said.rc, said.out) == (255, "")


def test_all_reduce_without_a_check_does_not_say_that_results_are_right(sim: SimNode) -> None:
    sim.inject("nccl-wrong")
    said = sim.ask("all_reduce_perf", "-b", "1G", "-e", "1G", "-g", "8", "-c", "0")

    assert said.rc == 0
    assert said.out.count("    N/A") == 2
