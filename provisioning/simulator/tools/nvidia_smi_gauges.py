"""What does nvidia-smi -q -x say of a board's memory, errors, temperature, power, clocks and fabric?"""

from __future__ import annotations

from provisioning.simulator.tools.xml_elements import block, not_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Board = dict[str, Any]
    from provisioning.simulator.tools.xml_elements import Element


def memory(state: dict[str, Any], *, modern: bool) -> list[Element]:
    total, bar1 = int(state["sku"]["memory_mib"]), state["hw"]["bar1_mib"]
    reserved = 551
    counters: list[Element] = [("session_count", "0"), ("average_fps", "0"), ("average_latency", "0")]
    encryption = (
        [not_available("dram_encryption_mode", "current_dram_encryption", "pending_dram_encryption")]
        if modern
        else []
    )
    return [
        block(
            "fb_memory_usage",
            total=f"{total} MiB",
            reserved=f"{reserved} MiB",
            used="1 MiB",
            free=f"{total - reserved - 1} MiB",
        ),
        block("bar1_memory_usage", total=f"{bar1} MiB", used="1 MiB", free=f"{bar1 - 1} MiB"),
        block("cc_protected_memory_usage", total="0 MiB", used="0 MiB", free="0 MiB"),
        ("compute_mode", "Default"),
        block(
            "utilization",
            gpu_util="0 %",
            memory_util="0 %",
            encoder_util="0 %",
            decoder_util="0 %",
            jpeg_util="0 %",
            ofa_util="0 %",
        ),
        ("encoder_stats", counters),
        ("fbc_stats", counters),
        *encryption,
    ]


def errors(state: dict[str, Any], board: Board) -> list[Element]:
    """ECC counters, and what became of rows of memory that failed."""
    retired: list[Element] = [
        not_available("multiple_single_bit_retirement", "retired_count", "retired_pagelist"),
        not_available("double_bit_retirement", "retired_count", "retired_pagelist"),
        ("pending_blacklist", "N/A"),
        ("pending_retirement", "N/A"),
    ]
    return [
        block("ecc_mode", current_ecc="Enabled", pending_ecc="Enabled"),
        ("ecc_errors", _ecc(board)),
        ("retired_pages", retired),
        ("remapped_rows", _remapped(board["remap"], state["hw"]["remap_banks"])),
    ]


def _ecc(board: Board) -> list[Element]:
    counts = {
        "sram_correctable": "0",
        "sram_uncorrectable_parity": "0",
        "sram_uncorrectable_secded": "0",
        "dram_correctable": "0",
        "dram_uncorrectable": str(board["dram_uncorrectable"]),
    }
    sources = ("sram_l2", "sram_sm", "sram_microcontroller", "sram_pcie", "sram_other")
    return [
        block("volatile", **counts),
        block("aggregate", **counts, sram_threshold_exceeded="No"),
        block("aggregate_uncorrectable_sram_sources", **dict.fromkeys(sources, "0")),
    ]


def _remapped(remap: dict[str, Any], banks: int) -> list[Element]:
    used = 1 if remap["corr"] or remap["unc"] else 0
    empty = 1 if remap["failure"] else 0
    return [
        ("remapped_row_corr", str(remap["corr"])),
        ("remapped_row_unc", str(remap["unc"])),
        ("remapped_row_pending", "Yes" if remap["pending"] else "No"),
        ("remapped_row_failure", "Yes" if remap["failure"] else "No"),
        block(
            "row_remapper_histogram",
            row_remapper_histogram_max=f"{banks - used} bank(s)",
            row_remapper_histogram_high=f"{used - empty} bank(s)",
            row_remapper_histogram_partial="0 bank(s)",
            row_remapper_histogram_low="0 bank(s)",
            row_remapper_histogram_none=f"{empty} bank(s)",
        ),
    ]


def temperature(state: dict[str, Any], board: Board) -> list[Element]:
    limit = state["hw"]["slowdown_temp"]
    if state["hw"]["temp_style"] == "absolute":  # older boards count up to a limit, newer ones down to zero
        scale: list[Element] = [
            ("gpu_temp_tlimit", "N/A"),
            ("gpu_temp_max_threshold", f"{limit + 3} C"),
            ("gpu_temp_slow_threshold", f"{limit} C"),
            ("gpu_temp_max_gpu_threshold", f"{limit - 4} C"),
            ("gpu_target_temperature", "N/A"),
            ("memory_temp", f"{board['mem_temp']} C"),
            ("gpu_temp_max_mem_threshold", "95 C"),
        ]
    else:
        scale = [
            ("gpu_temp_tlimit", f"{limit - board['temp']} C"),
            ("gpu_temp_max_tlimit_threshold", "-8 C"),
            ("gpu_temp_slow_tlimit_threshold", "-2 C"),
            ("gpu_temp_max_gpu_tlimit_threshold", "0 C"),
            ("gpu_target_temperature", "N/A"),
            ("memory_temp", f"{board['mem_temp']} C"),
            ("gpu_temp_max_mem_tlimit_threshold", "0 C"),
        ]
    return [
        ("temperature", [("gpu_temp", f"{board['temp']} C"), *scale]),
        not_available("supported_gpu_target_temp", "gpu_target_temp_min", "gpu_target_temp_max"),
    ]


def power(board: Board, *, modern: bool) -> list[Element]:
    draw = f"{board['power']:.2f} W"
    draws: list[Element] = (
        [("average_power_draw", draw), ("instant_power_draw", draw)] if modern else [("power_draw", draw)]
    )
    names = [
        "current_power_limit",
        "requested_power_limit",
        "default_power_limit",
        "min_power_limit",
        "max_power_limit",
    ]
    values = [
        board["power_limit"],
        board["power_limit"],
        board["default_power_limit"],
        200.0,
        board["default_power_limit"],
    ]
    limits: list[Element] = [(name, f"{value:.2f} W") for name, value in zip(names, values, strict=True)]
    empty: list[Element] = [(name, "N/A") for name, _ in (*draws, *limits)]
    extra: list[Element] = (
        [
            ("power_smoothing", "N/A"),
            not_available(
                "power_profiles", "power_profile_requested_profiles", "power_profile_enforced_profiles"
            ),
        ]
        if modern
        else []
    )
    return [
        ("gpu_power_readings", [("power_state", "P0"), *draws, *limits]),
        ("gpu_memory_power_readings", [(name, "N/A") for name, _ in draws]),
        ("module_power_readings", [("power_state", "P0"), *empty]),
        *extra,
    ]


def clocks(state: dict[str, Any], board: Board) -> list[Element]:
    hw = state["hw"]
    now, memory, most = f"{board['sm_clock']} MHz", f"{hw['mem_clock']} MHz", f"{hw['sm_clock']} MHz"
    video = f"{round(board['sm_clock'] * 0.9)} MHz"
    return [
        block("clocks", graphics_clock=now, sm_clock=now, mem_clock=memory, video_clock=video),
        block("applications_clocks", graphics_clock=most, mem_clock=memory),
        block("default_applications_clocks", graphics_clock=most, mem_clock=memory),
        block("deferred_clocks", mem_clock="N/A"),
        block(
            "max_clocks",
            graphics_clock=most,
            sm_clock=most,
            mem_clock=memory,
            video_clock=f"{round(hw['sm_clock'] * 0.9)} MHz",
        ),
        block("max_customer_boost_clocks", graphics_clock=most),
        not_available("clock_policy", "auto_boost", "auto_boost_default"),
        block("voltage", graphics_volt="670.000 mV"),
    ]


def fabric(board: Board) -> list[Element]:
    state, status = board["fabric"]
    return [
        (
            "fabric",
            [
                ("state", state),
                ("status", status),
                ("cliqueId", "N/A"),
                ("clusterUuid", "N/A"),
                not_available(
                    "health",
                    "bandwidth",
                    "route_recovery_in_progress",
                    "route_unhealthy",
                    "access_timeout_recovery",
                ),
            ],
        )
    ]


def last(state: dict[str, Any], *, modern: bool) -> list[Element]:
    hw = state["hw"]
    steps: list[Element] = [("value", f"{hw['mem_clock']} MHz")]
    steps += [
        ("supported_graphics_clock", f"{clock} MHz")
        for clock in range(hw["sm_clock"], hw["sm_clock"] - 300, -15)
    ]
    last: list[Element] = [block("capabilities", egm="disabled")] if modern else []
    return [
        ("supported_clocks", [("supported_mem_clock", steps)]),
        ("processes", []),
        ("accounted_processes", []),
        *last,
    ]
