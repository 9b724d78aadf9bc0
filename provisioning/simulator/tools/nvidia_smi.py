"""Which of nvidia-smi's forms was asked for?"""

from __future__ import annotations

from provisioning.simulator import observed
from provisioning.simulator.call import Call
from provisioning.simulator.tools import nvidia_smi_query, nvidia_smi_text, nvidia_smi_xml


def run(call: Call) -> int:
    """nvidia-smi: -q -x, -L, --query-gpu=…, nvlink -s, topo -m, -pm, -lgc, -rgc, or the plain table."""
    argv = call.argv
    trouble = observed.nvml_error(call.state)
    if trouble is not None and "--version" not in argv:
        call.out(trouble[0])
        return trouble[1]
    if argv[:1] == ["nvlink"]:
        return nvidia_smi_text.nvlink(call)
    if argv[:1] == ["topo"]:
        return nvidia_smi_text.topo(call)
    if any(word.startswith(("--query-gpu", "--query-remapped-rows")) for word in argv):
        return nvidia_smi_query.run(call)
    if "-q" in argv or "--query" in argv:
        return nvidia_smi_xml.run(call)
    if "-L" in argv or "--list-gpus" in argv:
        return nvidia_smi_text.list_gpus(call)
    if {"-lgc", "--lock-gpu-clocks", "-rgc", "--reset-gpu-clocks"} & set(argv):
        return _clocks(call)
    return _setting(call) if any(word in SETTINGS for word in argv) else nvidia_smi_text.table(call)


def _clocks(call: Call) -> int:
    """-lgc MIN,MAX keeps every GPU's graphics clock within bounds; -rgc lifts them."""
    lifts = bool({"-rgc", "--reset-gpu-clocks"} & set(call.argv))
    bounds = "" if lifts else call.argv[-1]
    low, _, high = bounds.partition(",")
    if not lifts and not (low.isdecimal() and (high or low).isdecimal()):
        return call.fail(2, f"Invalid combination of input arguments: {bounds}")
    call.update(lambda state: state.update({"locked_clocks": bounds}))
    for board in observed.gpus(call.state):
        if board["presence"] == "ok":
            said = "reset to default" if lifts else f'set to "(gpuClkMin {low}, gpuClkMax {high or low})"'
            call.out(f"GPU clocks {said} for GPU 00000000:{board['bus'].upper()}:00.0\n")
    call.out("All done.\n")
    return 0


SETTINGS = {
    "-pm": "persistence mode",
    "--persistence-mode": "persistence mode",
    "-pl": "power limit",
    "-r": "reset",
    "-ac": "clocks",
}


def _setting(call: Call) -> int:
    """Settings are accepted and said to be done; a GPU that is off the bus refuses them."""
    what = next(SETTINGS[word] for word in call.argv if word in SETTINGS)
    lost = [board for board in observed.gpus(call.state) if board["presence"] == "lost"]
    for board in observed.gpus(call.state):
        if board["presence"] == "ok":
            call.out(f"{what.capitalize()} is set for GPU 00000000:{board['bus'].upper()}:00.0.\n")
    call.out("All done.\n")
    return 15 if lost else 0
