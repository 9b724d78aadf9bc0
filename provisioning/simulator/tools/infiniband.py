"""What do ibstat and ibv_devinfo say of the node's InfiniBand ports?"""

from __future__ import annotations

from provisioning.simulator import observed
from provisioning.simulator.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def ibstat(call: Call) -> int:
    """ibstat [-l] [CA]"""
    ports = observed.ports(call.state)
    names = [word for word in call.argv if not word.startswith("-")]
    if names:
        ports = [port for port in ports if port["name"] == names[0]]
        if not ports:
            return call.fail(255, f"ibstat: iberror: failed: '{names[0]}' IB device can't be found")
    if "-l" in call.argv:
        call.out("".join(f"{port['name']}\n" for port in ports))
        return 0
    for port in ports:
        call.out(_ca(call.state["hw"]["hca"], port))
    return 0


def _ca(hca: dict[str, str], port: dict[str, Any]) -> str:
    lines = [
        f"CA '{port['name']}'",
        f"\tCA type: {hca['type']}",
        "\tNumber of ports: 1",
        f"\tFirmware version: {hca['fw']}",
        "\tHardware version: 0",
        f"\tNode GUID: 0x{port['guid']}",
        f"\tSystem image GUID: 0x{port['guid']}",
        "\tPort 1:",
        f"\t\tState: {port['state']}",
        f"\t\tPhysical state: {port['phys']}",
        f"\t\tRate: {port['rate']}",
        f"\t\tBase lid: {port['lid'] if port['state'] == 'Active' else 65535}",
        "\t\tLMC: 0",
        f"\t\tSM lid: {1 if port['state'] == 'Active' else 0}",
        "\t\tCapability mask: 0xa751e848",
        f"\t\tPort GUID: 0x{port['guid']}",
        "\t\tLink layer: InfiniBand",
    ]
    return "\n".join(lines) + "\n"


def ibv_devinfo(call: Call) -> int:
    """ibv_devinfo: one block per device."""
    states = {"Active": "PORT_ACTIVE (4)", "Initializing": "PORT_INIT (2)"}
    for port in observed.ports(call.state):
        guid = ":".join(port["guid"][start : start + 4] for start in range(0, 16, 4))
        call.out(
            f"hca_id:\t{port['name']}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t{call.state['hw']['hca']['fw']}\n"
            f"\tnode_guid:\t\t\t{guid}\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n\t\t\tstate:\t\t\t{states[port['state']]}\n"
            f"\t\t\tport_lid:\t\t{port['lid']}\n\t\t\tlink_layer:\t\tInfiniBand\n\n"
        )
    return 0
