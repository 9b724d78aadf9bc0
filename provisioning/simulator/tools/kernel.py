"""What do uname, sysctl and the module tools say, and what do they change?"""

from __future__ import annotations

from provisioning.simulator import observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KNOWN_MODULES = {
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "mlx5_core",
    "mlx5_ib",
    "ib_core",
    "ib_uverbs",
    "ib_umad",
    "ib_ipoib",
    "rdma_cm",
    "rdma_ucm",
    "overlay",
    "br_netfilter",
    "nf_conntrack",
    "ip_tables",
    "nfs",
    "nfsv4",
    "lustre",
    "ext4",
    "xfs",
    "bonding",
    "loop",
    "tun",
    "vfio",
    "vfio_pci",
    "fuse",
    "ipmi_si",
    "ipmi_devintf",
    "msr",
    "gdrdrv",
    "nvme_fabrics",
    "nvme_rdma",
}
NEEDS = {
    "nvidia_uvm": "nvidia",
    "nvidia_modeset": "nvidia",
    "nvidia_drm": "nvidia_modeset",
    "nvidia_peermem": "nvidia",
    "mlx5_ib": "mlx5_core",
    "nfsv4": "nfs",
}


def uname(call: Call) -> int:
    """uname [-r|-n|-s|-m|-a]"""
    kernel, name = call.state["kernel"]["running"], call.state["name"]
    words = {
        "-s": "Linux",
        "-n": name,
        "-r": kernel,
        "-v": "#132-Ubuntu SMP Thu Aug 29 13:45:52 UTC 2024",
        "-m": "x86_64",
        "-o": "GNU/Linux",
    }
    asked = set(call.argv) or {"-s"}
    chosen = (
        list(words.values()) if "-a" in asked else [text for option, text in words.items() if option in asked]
    )
    call.out(" ".join(chosen) + "\n")
    return 0


def hostname(call: Call) -> int:
    call.out(call.state["name"] + "\n")
    return 0


def _plain(name: str) -> str:
    return name.replace("-", "_")


def lsmod(call: Call) -> int:
    """Module, size and who uses it."""
    call.out("Module                  Size  Used by\n")
    loaded = call.state["modules"]
    for name in reversed(loaded):
        users = [user for user in loaded if NEEDS.get(user) == name]
        call.out(
            f"{name:<19} {16384 * (len(name) + 3):>8}  {len(users)}{' ' if users else ''}{','.join(users)}\n"
        )
    return 0


def modprobe(call: Call) -> int:
    """modprobe [-r] [-n] NAME…; loading brings what the module needs, and `nvidia` brings the installed driver version."""
    names = [_plain(word) for word in call.argv if not word.startswith("-")][:1]
    if not names:
        return call.fail(1, "modprobe: ERROR: missing module name")
    if {"-r", "--remove"} & set(call.argv):
        return _unload(call, names[0], "modprobe")
    if names[0] not in KNOWN_MODULES and names[0] not in call.state["modules"]:
        return call.fail(
            1,
            f"modprobe: FATAL: Module {names[0]} not found in directory /lib/modules/{call.state['kernel']['running']}",
        )
    if names[0] == "nvidia" and not call.state["driver"]["installed"]:
        return call.fail(
            1,
            f"modprobe: FATAL: Module nvidia not found in directory /lib/modules/{call.state['kernel']['running']}",
        )
    if not {"-n", "--dry-run", "--show"} & set(call.argv):
        call.update(lambda state: _load(state, names[0]))
        write_driver_file(call)
    return 0


def write_driver_file(call: Call) -> None:
    """/proc/driver/nvidia/version tells the loaded module's version, and is not there without one."""
    version = observed.driver_version(call.state) if "nvidia" in call.state["modules"] else ""
    call.write(
        "/proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Aug 12 00:00:00 UTC 2025\n"
        if version
        else "",
    )


def _load(state: dict[str, Any], name: str) -> None:
    if name in NEEDS:
        _load(state, NEEDS[name])
    if name not in state["modules"]:
        state["modules"].append(name)
        if name == "nvidia":
            state["driver"]["loaded"] = state["driver"]["installed"]


def rmmod(call: Call) -> int:
    names = [_plain(word) for word in call.argv if not word.startswith("-")]
    return next((code for code in (_unload(call, name, "rmmod") for name in names) if code), 0)


def _unload(call: Call, name: str, tool: str) -> int:
    """A module that another one needs stays; modprobe -r of the GPU driver takes its unused parts along."""
    users = [user for user in call.state["modules"] if NEEDS.get(user) == name]
    family = tool == "modprobe" and name.startswith("nvidia")
    if users and not family:
        return call.fail(1, f"{tool}: ERROR: Module {name} is in use by: {' '.join(users)}")
    if name not in call.state["modules"]:
        return (
            0 if tool == "modprobe" else call.fail(1, f"rmmod: ERROR: Module {name} is not currently loaded")
        )

    def drop(state: dict[str, Any]) -> None:
        gone = {name, *(users if family else [])}
        gone |= {user for user in state["modules"] if family and NEEDS.get(user) in gone}
        state["modules"] = [module for module in state["modules"] if module not in gone]

    call.update(drop)
    write_driver_file(call)
    return 0


def modinfo(call: Call) -> int:
    """modinfo [-F version] NAME"""
    name = _plain(next((word for word in reversed(call.argv) if not word.startswith("-")), ""))
    if name not in KNOWN_MODULES and name not in call.state["modules"]:
        return call.fail(1, f"modinfo: ERROR: Module {name} not found.")
    version = (
        observed.library_version(call.state) if name.startswith("nvidia") else call.state["kernel"]["running"]
    )
    if "-F" in call.argv:
        call.out(f"{version}\n" if "version" in call.argv else "\n")
        return 0
    call.out(
        f"filename:       /lib/modules/{call.state['kernel']['running']}/updates/dkms/{name}.ko\nversion:        {version}\n"
    )
    return 0


def sysctl(call: Call) -> int:
    """sysctl -n KEY | -w KEY=VALUE | KEY=VALUE | -a | --system | -p [FILE]"""
    flags = {word for word in call.argv if word.startswith("-")}
    words = [word for word in call.argv if not word.startswith("-")]
    values = call.state["sysctl"]
    if "-a" in flags:
        call.out("".join(f"{key} = {value}\n" for key, value in sorted(values.items())))
        return 0
    if flags & {"--system", "-p", "--load"}:
        return _load_files(call, words)
    code = 0
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip().replace("/", ".")
        if key not in values:
            call.err(f"sysctl: cannot stat /proc/sys/{key.replace('.', '/')}: No such file or directory\n")
            code = 255
        elif equals:
            _set(call, key, value.strip())
            call.out(f"{key} = {value.strip()}\n")
        else:
            call.out(f"{values[key]}\n" if "-n" in flags else f"{key} = {values[key]}\n")
    return code


def _set(call: Call, key: str, value: str) -> None:
    call.update(lambda state: state["sysctl"].update({key: value}))


def _load_files(call: Call, names: list[str]) -> int:
    folder = "/etc/sysctl.d"
    names = names or [f"{folder}/{name}" for name in call.files_in(folder)]
    for name in names:
        for line in call.read(name).splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.lstrip().startswith(("#", ";")) and key.strip() in call.state["sysctl"]:
                _set(call, key.strip(), value.strip())
                call.out(f"{key.strip()} = {value.strip()}\n")
    return 0
