"""Are the ports of the compute network up at their rate, and are their counters still able to count?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading, ReadingSet

FAIL, WARN = FindingLevel.FAIL, FindingLevel.WARN


def _compute_ports(context: Context) -> tuple[str, ...]:
    """The named ports; without names the InfiniBand ones, and on a fabric without InfiniBand all that are no bond."""
    named = context.expectation.compute_ports
    if named:
        return tuple(f"nic:{name}" for name in named)
    readings = context.gathered.readings
    ports = [device for device in readings.devices("ib_state") if "bond" not in device]
    layers = {device: _word(readings, "ib_link_layer", device) for device in ports}
    infiniband = tuple(device for device in ports if layers[device] == "InfiniBand")
    return infiniband or tuple(ports)


def _word(readings: ReadingSet, metric: str, device: str) -> str:
    found = readings.last(metric, device)
    return found.text or "" if found is not None else ""


def ib_ports(context: Context) -> Iterator[Finding]:
    """At least as many ports at the SKU's rate as it has NICs."""
    check, wanted, rate = "ib_ports", context.nic_count, context.sku.nics.rate_gbps
    readings = context.gathered.readings
    ports = _compute_ports(context)
    if not readings.of("ib_state"):
        yield not_measured(check, f"network ports are not known: {context.silence('ib-sysfs', 'ibstat')}")
        return
    troubles = {port: _trouble(readings, port, rate) for port in ports}
    good = [port for port, trouble in troubles.items() if not trouble]
    looked = [one for one in readings.of("ib_state") if one.device in ports]
    if len(good) >= wanted:
        yield passed(check, f"{len(good)} ports active at {rate:g} Gb/s", *looked)
        return
    for port, trouble in troubles.items():
        if trouble:
            seen = [one for one in looked if one.device == port]
            yield said(check, FAIL, f"{port}: {trouble}", *seen, device=port, observed=trouble,
                       expected=f"ACTIVE, LinkUp, {rate:g} Gb/s")  # fmt: skip
    if len(ports) < wanted:
        message = f"{len(ports)} compute ports instead of {wanted}"
        yield said(check, FAIL, message, *looked, observed=len(ports), expected=wanted)


def _trouble(readings: ReadingSet, port: str, rate: float) -> str:
    """What is wrong with a port in words, worst first; empty where nothing is. All sources must agree that it is well."""
    states = [one.text or one.state.value for one in readings.of("ib_state", device=port)]
    physical = [one.text or one.state.value for one in readings.of("ib_phys_state", device=port)]
    rates = [one.number for one in readings.of("ib_rate", device=port)]
    if not states:
        return "was not listed"
    for word in physical:
        if word != "LinkUp":
            return f"the link is {word}"
    for word in states:
        if word == "INIT":
            return "the link is up and waits for the subnet manager (INIT)"
        if word != "ACTIVE":
            return f"the port is {word}"
    known = [one for one in rates if one is not None]
    if not known:
        return "tells no rate"
    return f"runs at {min(known):g} Gb/s instead of {rate:g}" if min(known) < rate else ""


def ib_counters(context: Context) -> Iterator[Finding]:
    """Link losses. A counter that stands at its top can't show new ones: that is not measured, not zero."""
    check = "ib_counters"
    readings = context.gathered.readings
    ports = _compute_ports(context)
    found = [one for one in readings.measured("ib_link_downed") if one.device in ports]
    if not found:
        yield not_measured(check, f"link counters are not known: {context.silence('ib-sysfs')}")
        return
    for port in sorted({one.device for one in found}):
        yield _losses(context, port, [one for one in found if one.device == port])


def _losses(context: Context, port: str, reads: list[Reading]) -> Finding:
    check, limit = "ib_counters", context.policy.link_downed_fail
    first, last = reads[0], reads[-1]
    grown = (last.number or 0) - (first.number or 0)
    if grown > 0:
        message = f"{port}: the link was lost {grown:g} times while the node was looked at"
        return said(check, FAIL, message, first, last, device=port, observed=grown, expected=0)
    if last.told("saturated") == "yes":
        message = f"{port}: the counter of link losses stands at its top ({last.number:g}) and can't count on: clear it"
        return not_measured(check, message, *reads, device=port)
    if (last.number or 0) > limit:
        message = f"{port}: the link was lost {last.number:g} times since the counter was cleared"
        return said(
            check, FAIL, message, last, device=port, observed=last.number, expected=f"at most {limit}"
        )
    if last.number:
        message = f"{port}: the link was lost {last.number:g} times since the counter was cleared"
        return said(check, WARN, message, last, device=port, observed=last.number, expected=0)
    return passed(check, f"{port}: the link was never lost", last, device=port)


def ib_write_bw(context: Context) -> Iterator[Finding]:
    """One NIC against its own rate: 90 % is what published limits ask for."""
    for one in context.gathered.readings.measured("ib_write_bw"):
        share = (one.number or 0) / context.sku.nics.rate_gbps
        if share < 0.90:
            message = f"{one.device}: {one.number:g} Gb/s is {share:.0%} of the NIC's rate"
            yield said("ib_write_bw", FAIL, message, one, device=one.device, observed=one.number,
                       expected=0.90 * context.sku.nics.rate_gbps)  # fmt: skip
        else:
            yield passed("ib_write_bw", f"{one.device}: {one.number:g} Gb/s", one, device=one.device)


register(Check(
    id="ib_ports", title="Network ports", reads=("ib_state", "ib_phys_state", "ib_rate", "ib_link_layer"),
    severity=Severity.UNFIT, rule=ib_ports, applies=lambda context: context.nic_count > 0,
    source="SKU data; gpud: at least N ports at R Gb/s",
    told=Told(
        passes="as many compute ports as the SKU has NICs are ACTIVE, LinkUp and at its rate",
        fails="fewer; INIT names the subnet manager, a lower rate is told with both rates",
        not_measured="neither sysfs nor ibstat listed a port",
    ),
))  # fmt: skip
register(Check(
    id="ib_counters", title="Link losses", reads=("ib_link_downed",), severity=Severity.DEGRADED, rule=ib_counters,
    applies=lambda context: context.nic_count > 0, source="azurehpc-health-checks: flap limit 6; InfiniBand counters of 8 bits",
    told=Told(
        passes="0", warns="1 to 6 since the counter was cleared", fails="more than 6, or growing while the node is looked at",
        not_measured="the counter stands at its top (255), or was not read",
    ),
))  # fmt: skip
register(Check(
    id="ib_write_bw", title="NIC bandwidth", reads=("ib_write_bw",), severity=Severity.DEGRADED, rule=ib_write_bw,
    applies=lambda context: bool(context.gathered.readings.of("ib_write_bw")) and context.sku.nics.rate_gbps > 0,
    source="Azure: GPUDirect write 375 of 400 Gb/s, 185 of 200",
    told=Told(passes="90 % of the rate or more", fails="less", not_measured="asked only where ib_write_bw ran"),
))  # fmt: skip
