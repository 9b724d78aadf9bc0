"""What does nvidia-ctk do to a node's container configuration?"""

from __future__ import annotations

from provisioning.simulator.call import Call

FILES = {
    "docker": "/etc/docker/daemon.json",
    "containerd": "/etc/containerd/config.toml",
    "crio": "/etc/crio/crio.conf.d/99-nvidia.toml",
}
TEXTS = {
    "docker": '{\n    "runtimes": {\n        "nvidia": {\n            "args": [],\n            "path": "nvidia-container-runtime"\n'
    "        }\n    }\n}\n",
    "containerd": '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]\n  BinaryName = "nvidia-container-runtime"\n',
    "crio": '[crio.runtime.runtimes.nvidia]\nruntime_path = "nvidia-container-runtime"\n',
}


def nvidia_ctk(call: Call) -> int:
    """nvidia-ctk --version | runtime configure --runtime=NAME | cdi generate [--output=FILE] | cdi list"""
    words = [word for word in call.argv if not word.startswith("-")]
    values = dict(word[2:].split("=", 1) for word in call.argv if word.startswith("--") and "=" in word)
    package = call.state["packages"].get("nvidia-container-toolkit")
    if package is None:
        return call.fail(127, "nvidia-ctk: command not found")
    if "--version" in call.argv:
        call.out(f"NVIDIA Container Toolkit CLI version {package['version'].split('-')[0]}\n")
        return 0
    if words[:2] == ["runtime", "configure"] and values.get("runtime", "docker") in FILES:
        runtime = values.get("runtime", "docker")
        call.write(values.get("config", FILES[runtime]), TEXTS[runtime])
        call.err(f'time="2025-01-01T00:00:00Z" level=info msg="Wrote updated config to {FILES[runtime]}"\n')
        return 0
    devices = [f"nvidia.com/gpu={number}" for number in [*range(len(call.state["gpus"])), "all"]]
    if words[:2] == ["cdi", "generate"]:
        text = "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n" + "".join(
            f'- name: "{name.split("=")[1]}"\n' for name in devices
        )
        call.write(values["output"], text) if "output" in values else call.out(text)
        return 0
    if words[:2] == ["cdi", "list"]:
        call.out(f"INFO[0000] Found {len(devices)} CDI devices\n" + "".join(f"{name}\n" for name in devices))
        return 0
    return call.fail(
        1, "NAME:\n   NVIDIA Container Toolkit CLI - Tools to configure the NVIDIA Container Toolkit"
    )
