"""What does nvidia-smi -q -x say of which board it is and how it is attached?"""

from __future__ import annotations

from provisioning.simulator import noise, observed
from provisioning.simulator.tools.nvidia_smi_words import pci_id, vbios
from provisioning.simulator.tools.xml_elements import BARE, block, not_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Board = dict[str, Any]
    from provisioning.simulator.tools.xml_elements import Element

DEPRECATED = "Requested functionality has been deprecated"


def identity(state: dict[str, Any], board: Board, *, modern: bool) -> list[Element]:
    """From the product's name to its virtualisation mode."""
    return [*_modes(state), *_numbers(state, board), *_place(state, board, modern=modern), *_firmware(state)]


def _modes(state: dict[str, Any]) -> list[Element]:
    return [
        ("product_name", state["sku"]["gpu_model"]),
        ("product_brand", "NVIDIA"),
        ("product_architecture", state["hw"]["architecture"]),
        ("display_mode", "Enabled"),
        ("display_active", "Disabled"),
        ("persistence_mode", "Enabled"),
        ("addressing_mode", "None"),
        block("mig_mode", current_mig="Disabled", pending_mig="Disabled"),
        ("mig_devices", [(BARE, "None")]),
        ("accounting_mode", "Disabled"),
        ("accounting_mode_buffer_size", "4000"),
        not_available("driver_model", "current_dm", "pending_dm"),
    ]


def _numbers(state: dict[str, Any], board: Board) -> list[Element]:
    return [
        ("serial", board["serial"]),
        ("uuid", board["uuid"]),
        ("minor_number", str(board["index"])),
        ("vbios_version", vbios(state)),
        ("multigpu_board", "No"),
        ("board_id", f"0x{board['bus']}00"),
        ("board_part_number", state["hw"]["board_part"]),
        ("gpu_part_number", f"{state['hw']['pci_id'].upper()}-885-A1"),
        ("gpu_fru_part_number", "N/A"),
    ]


def _place(state: dict[str, Any], board: Board, *, modern: bool) -> list[Element]:
    """Where in the chassis the board sits; newer drivers say more of it."""
    module, fabric = str(board["slot"] + 1), state["hw"]["has_fabric"]
    if not modern:
        return [("gpu_module_id", module)]
    guid = "0x" + noise.token(16, state["seed"], board["uuid"], "fabric")
    return [
        (
            "platformInfo",
            [
                ("chassis_serial_number", "N/A"),
                ("slot_number", "N/A"),
                ("tray_index", "N/A"),
                ("host_id", "N/A"),
                ("peer_type", "Switch Connected" if fabric else "N/A"),
                ("module_id", module),
                ("gpu_fabric_guid", guid if fabric else "N/A"),
            ],
        )
    ]


def _firmware(state: dict[str, Any]) -> list[Element]:
    hw = state["hw"]
    return [
        block(
            "inforom_version",
            img_version=hw["inforom"],
            oem_object="2.1",
            ecc_object=hw["ecc_object"],
            pwr_object="N/A",
        ),
        not_available("inforom_bbx_flush", "latest_timestamp", "latest_duration"),
        not_available("gpu_operation_mode", "current_gom", "pending_gom"),
        ("c2c_mode", "Disabled"),
        block(
            "gpu_virtualization_mode",
            virtualization_mode="None",
            host_vgpu_mode="N/A",
            vgpu_heterogeneous_mode="N/A",
        ),
    ]


def reset(state: dict[str, Any], board: Board, *, modern: bool) -> list[Element]:
    version = observed.driver_version(state)
    if modern:
        status = block("gpu_reset_status", reset_required=DEPRECATED, drain_and_reset_recommended=DEPRECATED)
        action: list[Element] = [("gpu_recovery_action", board["recovery"])]
    else:
        status = block(
            "gpu_reset_status",
            reset_required="Yes" if board["recovery"] == "Reset" else "No",
            drain_and_reset_recommended="Yes" if board["recovery"] == "Drain and Reset" else "No",
        )
        action = []
    return [
        status,
        *action,
        ("gsp_firmware_version", version),
        not_available("ibmnpu", "relaxed_ordering_mode"),
    ]


def bus(state: dict[str, Any], board: Board, *, modern: bool) -> list[Element]:
    hw, pcie = state["hw"], state["sku"]["pcie"]
    gen, width = str(pcie["gen"]), f"{pcie['width']}x"
    classes: list[Element] = [("pci_base_class", "3"), ("pci_sub_class", "2")] if modern else []
    return [
        (
            "pci",
            [
                ("pci_bus", board["bus"].upper()),
                ("pci_device", "00"),
                ("pci_domain", "0000"),
                *classes,
                ("pci_device_id", f"{hw['pci_id'].upper()}10DE"),
                ("pci_bus_id", pci_id(board)),
                ("pci_sub_system_id", f"{hw['pci_subsystem'].upper()}10DE"),
                (
                    "pci_gpu_link_info",
                    [
                        block(
                            "pcie_gen",
                            max_link_gen=gen,
                            current_link_gen=str(board["gen"]),
                            device_current_link_gen=str(board["gen"]),
                            max_device_link_gen=gen,
                            max_host_link_gen=gen,
                        ),
                        block("link_widths", max_link_width=width, current_link_width=f"{board['width']}x"),
                    ],
                ),
                not_available("pci_bridge_chip", "bridge_chip_type", "bridge_chip_fw"),
                ("replay_counter", "0"),
                ("replay_rollover_counter", "0"),
                ("tx_util", "541 KB/s"),
                ("rx_util", "389 KB/s"),
                ("atomic_caps_outbound", "N/A"),
                ("atomic_caps_inbound", "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64 "),
            ],
        )
    ]


REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "display_clocks_setting",
)


def activity(board: Board) -> list[Element]:
    reasons: list[Element] = [
        (f"clocks_event_reason_{name}", "Active" if name in board["reasons"] else "Not Active")
        for name in REASONS
    ]
    return [
        ("fan_speed", "N/A"),
        ("performance_state", "P0"),
        ("clocks_event_reasons", reasons),
        ("sparse_operation_mode", "N/A"),
    ]
