"""What does lspci print of a node's GPUs, NVSwitches and network cards?"""

from __future__ import annotations

from provisioning.simulator import hardware, observed
from provisioning.simulator.call import Call, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Function = dict[str, Any]

SPEED = {1: "2.5GT/s", 2: "5GT/s", 3: "8GT/s", 4: "16GT/s", 5: "32GT/s", 6: "64GT/s"}


def run(call: Call) -> int:
    """lspci [-n|-nn] [-v|-vv|-vvv] [-d VENDOR:[DEVICE]] [-s ADDRESS] [-D]"""
    given, _ = options(call.argv, ("-d", "-s"))
    depth = sum(word.count("v") for word in call.argv if word.startswith("-v"))
    both = any(word.startswith("-") and "nn" in word for word in call.argv)
    for function in _functions(call.state):
        if _wanted(function, given):
            call.out(_first_line(function, given, both=both))
            if depth:
                call.out(_details(function) + "\n")
    return 0


def _wanted(function: Function, given: dict[str, str]) -> bool:
    vendor, _, device = given.get("-d", "").partition(":")
    if (
        vendor
        and vendor.lower() != function["vendor_id"]
        or device
        and device.lower().split(":")[0] != function["device_id"]
    ):
        return False
    address = given.get("-s", "")
    return not address or address.removeprefix("0000:").split(".")[0] == f"{function['bus']}:00"


def _functions(state: dict[str, Any]) -> list[Function]:
    found = [*_gpus(state), *_cards(state), *_switches(state)]
    return sorted(found, key=lambda function: str(function["bus"]))


def _gpus(state: dict[str, Any]) -> list[Function]:
    hw, sku = state["hw"], state["sku"]
    return [
        _function(
            board["bus"],
            "10de",
            hw["pci_id"],
            "3D controller",
            "0302",
            f"NVIDIA Corporation Device {hw['pci_id']}",
            "a1",
            sub=f"NVIDIA Corporation Device {hw['pci_subsystem']}",
            gen=sku["pcie"]["gen"],
            width=sku["pcie"]["width"],
            now=board["width"],
            driver="nvidia",
            modules="nvidia_drm, nvidia",
            dead=board["presence"] == "lost",
            slot=board["slot"],
        )
        for board in observed.gpus(state)
    ]


def _cards(state: dict[str, Any]) -> list[Function]:
    hca, sku = state["hw"]["hca"], state["sku"]
    return [
        _function(
            nic["bus"],
            "15b3",
            hca["pci_id"],
            "Infiniband controller",
            "0207",
            f"Mellanox Technologies {hca['family']}",
            "",
            sub=f"Mellanox Technologies {hca['family']}",
            gen=sku["pcie"]["gen"],
            width=16,
            now=16,
            driver="mlx5_core",
            modules="mlx5_core",
            slot=number,
        )
        for number, nic in enumerate(state["nics"])
    ]


def _switches(state: dict[str, Any]) -> list[Function]:
    hw = state["hw"]
    if not state["sku"].get("nvswitch"):
        return []
    return [
        _function(
            bus,
            "10de",
            hw["nvswitch_id"],
            "Bridge",
            "0680",
            f"NVIDIA Corporation Device {hw['nvswitch_id']}",
            "a1",
            sub="NVIDIA Corporation Device 1796",
            gen=4,
            width=2,
            now=2,
            driver="nvidia-nvswitch",
            modules="nvidia_drm, nvidia",
            slot=4,
        )
        for bus in hardware.SWITCH_BUSES[: hw["nvswitch_count"]]
    ]


def _function(
    bus: str, vendor: str, device: str, kind: str, code: str, title: str, rev: str, **more: Any
) -> Function:
    return {
        "bus": bus,
        "vendor_id": vendor,
        "device_id": device,
        "kind": kind,
        "class": code,
        "title": title,
        "rev": rev,
        "dead": False,
        **more,
    }


def _first_line(function: Function, given: dict[str, str], *, both: bool) -> str:
    domain = "0000:" if "-D" in given else ""
    rev = (
        " (rev ff) (prog-if ff)"
        if function["dead"]
        else (f" (rev {function['rev']})" if function["rev"] else "")
    )
    if both:
        return (
            f"{domain}{function['bus']}:00.0 {function['kind']} [{function['class']}]: {function['title']} "
            f"[{function['vendor_id']}:{function['device_id']}]{rev}\n"
        )
    return f"{domain}{function['bus']}:00.0 {function['kind']}: {function['title']}{rev}\n"


def _details(function: Function) -> str:
    if function["dead"]:
        return "\t!!! Unknown header type 7f\n\tKernel driver in use: nvidia\n\tKernel modules: nvidia_drm, nvidia\n"
    narrow = function["now"] < function["width"]
    return TEMPLATE.format(
        sub=function["sub"],
        irq=17 + function["slot"] * 9,
        numa=0 if function["slot"] < 4 else 1,
        speed=SPEED.get(function["gen"], "32GT/s"),
        width=function["width"],
        now=function["now"],
        word="downgraded" if narrow else "ok",
        lanes="0" if not narrow else "8 9 10 11 12 13 14 15",
        driver=function["driver"],
        modules=function["modules"],
    )


TEMPLATE = """\
	Subsystem: {sub}
	Control: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
	Status: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-
	Latency: 0
	Interrupt: pin A routed to IRQ {irq}
	NUMA node: {numa}
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 256 bytes, PhantFunc 0, Latency L0s <64ns, L1 <1us
			ExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 25.000W
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop- FLReset-
			MaxPayload 256 bytes, MaxReadReq 4096 bytes
		DevSta:	CorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-
		LnkCap:	Port #0, Speed {speed}, Width x{width}, ASPM not supported
			ClockPM+ Surprise- LLActRep- BwNot- ASPMOptComp+
		LnkCtl:	ASPM Disabled; RCB 64 bytes, Disabled- CommClk-
			ExtSynch- ClockPM- AutWidDis- BWInt- AutBWInt-
		LnkSta:	Speed {speed} (ok), Width x{now} ({word})
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
		LnkCap2: Supported Link Speeds: 2.5-{speed}, Crosslink- Retimer+ 2Retimers+ DRS-
		LnkCtl2: Target Link Speed: {speed}, EnterCompliance- SpeedDis-
	Capabilities: [100 v1] Secondary PCI Express
		LnkCtl3: LnkEquIntrruptEn- PerformEqu-
		LaneErrStat: {lanes}
	Capabilities: [1b8 v2] Advanced Error Reporting
		UESta:	DLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-
		CESta:	RxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr-
	Kernel driver in use: {driver}
	Kernel modules: {modules}
"""
