"""Whole hosts with NVIDIA GPUs: a scenario from a product, a count and a driver."""

import uuid
from collections.abc import Iterator

from probes.kit.nvml.inquiry import ALL_LINKS
from tests.nvml.drivers import differences, lacks, major
from tests.nvml.products import ADA, AMPERE, BLACKWELL, HOPPER, MIB, PRODUCTS, Product
from tests.nvml.scenario import Answers, Scenario, error, pci_info

BUSES = ("17", "2a", "3d", "65", "97", "a8", "b9", "ca", "1b", "33", "4c", "72", "9b", "ac", "c4", "dd")
"""By two to a switch; the second half hangs on the other socket."""
SWITCHES = ("07", "08", "09", "0a")
CPUS_OF_A_NODE = 48
WORDS = 16

NO_PERMISSION, NOT_FOUND = 4, 6
SYSTEM_TOPOLOGY, NODE_TOPOLOGY, SWITCH_TOPOLOGY = 50, 40, 10  # NVML_TOPOLOGY_*
P2P_OK, P2P_CHIPSET_NOT_SUPPORTED, P2P_NOT_SUPPORTED = 0, 1, 5
_CUDA = {535: 12020, 550: 12040, 560: 12060, 570: 12080, 575: 12090, 580: 13000, 590: 13010, 595: 13020, 610: 13030}


def slots(count: int) -> list[str]:
    """Their PCI addresses, in order."""
    return sorted(f"0000:{bus}:00.0" for bus in BUSES[:count])


def host_of(product: str, count: int = 1, driver: str = "580.65.06") -> Scenario:
    """`count` idle GPUs of one product, with persistence on and nobody's processes."""
    devices = {slot: device_of(PRODUCTS[product], slot, at, count, driver) for at, slot in enumerate(slots(count))}
    return {"system": system_of(driver), "devices": devices}


def system_of(driver: str) -> Answers:
    cuda = max(version for since, version in _CUDA.items() if since <= max(major(driver), 535))
    told: Answers = {
        "nvmlSystemGetDriverVersion": driver,
        "nvmlSystemGetNVMLVersion": f"{cuda // 1000}.{driver}",
        "nvmlSystemGetCudaDriverVersion_v2": cuda,
        "nvmlSystemGetDriverBranch": {"branch": f"r{major(driver)}_00"},
        "nvmlSystemGetConfComputeState": {"environment": 0, "ccFeature": 0, "devToolsMode": 0},
        "nvmlSystemGetConfComputeSettings": {"environment": 0, "ccFeature": 0, "devToolsMode": 0, "multiGpuMode": 0},
        "nvmlSystemGetNvlinkBwMode": 0,
    }
    return {key: answer for key, answer in told.items() if key not in lacks(driver)}


def device_of(product: Product, slot: str, at: int, count: int, driver: str) -> Answers:
    """at: the number of the GPU among `count` of the host."""
    node = int(at >= (count + 1) // 2)
    told = {
        **_identity(product, slot, at, driver),
        **_modes(product),
        **_clocks(product),
        **_power(product),
        **_thermal(product),
        **_memory(product),
        **_pcie(product),
        **_links(product, driver),
        **_places(node),
        **_peers(product, at, count),
        **differences(driver),
    }
    missing = set(lacks(driver)) - {
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetSupportedClocksEventReasons",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetGpuFabricInfoV",
    }  # older names tell these
    return {key: answer for key, answer in told.items() if key.partition("(")[0] not in missing}


def unit(slot: str, what: str = "unit") -> str:
    """A made-up UUID, the same for the same slot; another `what` is another unit in it."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{what} in {slot}"))


def _identity(product: Product, slot: str, at: int, driver: str) -> Answers:
    image, oem, ecc = product.inforom
    tesla = product.part != ""
    told = {
        "nvmlDeviceGetName": product.name,
        "nvmlDeviceGetUUID": f"GPU-{unit(slot)}",
        "nvmlDeviceGetSerial": f"16{int(unit(slot)[:8], 16):011d}" if tesla else None,
        "nvmlDeviceGetPciInfo_v3": pci_info(slot, product.device, product.subsystem),
        "nvmlDeviceGetMinorNumber": at,
        "nvmlDeviceGetIndex": at,
        "nvmlDeviceGetBrand": product.brand,
        "nvmlDeviceGetArchitecture": product.architecture,
        "nvmlDeviceGetCudaComputeCapability": list(product.capability),
        "nvmlDeviceGetBoardPartNumber": product.part or None,
        "nvmlDeviceGetVbiosVersion": product.vbios,
        "nvmlDeviceGetInforomImageVersion": image,
        "nvmlDeviceGetInforomVersion(0)": oem,
        "nvmlDeviceGetInforomVersion(1)": ecc or None,
        "nvmlDeviceGetModuleId": at + 1,
        "nvmlDeviceGetNumGpuCores": product.cores,
        "nvmlDeviceGetMemoryBusWidth": product.bus,
        "nvmlDeviceGetMultiGpuBoard": 0,
        "nvmlDeviceGetGspFirmwareVersion": driver,
        "nvmlDeviceGetGspFirmwareMode": [1, 1],
        "nvmlDeviceGetIrqNum": 120 + at,
    }
    if product.c2c:
        told["nvmlDeviceGetPlatformInfo"] = {
            "ibGuid": f"\\xfe\\x80{unit(slot)[:8]}", "chassisSerialNumber": "2507816907154",
            "slotNumber": 25, "trayIndex": 15, "hostId": 1, "peerType": 1, "moduleId": at + 1,
        }  # fmt: skip
    return {key: answer for key, answer in told.items() if answer is not None}


def _modes(product: Product) -> Answers:
    told: Answers = {
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetComputeMode": 0,
        "nvmlDeviceGetVirtualizationMode": 0,
        "nvmlDeviceGetAccountingMode": 0,
        "nvmlDeviceGetDisplayActive": 0,
        "nvmlDeviceGetAddressingMode": product.addressing,
        "nvmlDeviceGetAPIRestriction(0)": 1,
        "nvmlDeviceGetC2cModeInfoV": {"isC2cEnabled": int(product.c2c)},
        "nvmlDeviceGetPowerSource": 0,
        "nvmlDeviceGetNumFans": product.fans,
    }
    if product.ecc != "none":
        on = int(product.ecc == "on")
        told |= {"nvmlDeviceGetEccMode": [on, on], "nvmlDeviceGetDefaultEccMode": [on]}
    if product.mig:
        told |= {"nvmlDeviceGetMigMode": [0, 0], "nvmlDeviceGetMaxMigDeviceCount": product.mig}
    for kind in ("Compute", "Graphics", "MPSCompute"):
        told[f"nvmlDeviceGet{kind}RunningProcesses_v3"] = []
    return told


def _clocks(product: Product) -> Answers:
    def each(name: str, clocks: tuple[int, int, int]) -> Answers:
        graphics, memory, video = clocks
        return {f"{name}({kind})": clock for kind, clock in enumerate((graphics, graphics, memory, video))}

    told: Answers = {
        **each("nvmlDeviceGetClockInfo", product.clocks),
        **each("nvmlDeviceGetMaxClockInfo", product.most),
        "nvmlDeviceGetPerformanceState": product.idle_state,
        "nvmlDeviceGetUtilizationRates": {"gpu": 0, "memory": 0},
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
        "nvmlDeviceGetSupportedClocksEventReasons": 0x1FF,
    }
    told |= {f"nvmlDeviceGetFieldValues({number})": 0 for number in (74, 75, 76, 77, 79, 269, 270, 271)}
    if product.boost:
        told |= each("nvmlDeviceGetMaxCustomerBoostClock", product.most)
        told |= {f"nvmlDeviceGet{kind}ApplicationsClock({clock})": product.most[clock // 2]
                 for kind in ("", "Default") for clock in (0, 2)}  # fmt: skip
    for clock, offset in ((0, 1000), (2, 3000)):
        told[f"nvmlDeviceGetClockOffsets({clock},0)"] = {
            "type": clock, "pstate": 0, "clockOffsetMHz": 0,
            "minClockOffsetMHz": -offset * (not product.boost), "maxClockOffsetMHz": offset * (not product.boost),
        }  # fmt: skip
    return told


def _power(product: Product) -> Answers:
    least, most, default, draw = (1000 * watts for watts in product.power)
    told: Answers = {
        "nvmlDeviceGetPowerManagementLimit": default,
        "nvmlDeviceGetEnforcedPowerLimit": default,
        "nvmlDeviceGetPowerManagementDefaultLimit": default,
        "nvmlDeviceGetPowerManagementLimitConstraints": [least, most],
        "nvmlDeviceGetPowerUsage": draw + 120,
        "nvmlDeviceGetTotalEnergyConsumption": 86_400_000 * product.power[3],
        **_fields({186: draw + 230, 187: least, 188: most, 189: default, 190: default, 192: default}),
    }
    if product.architecture >= AMPERE and product.capability != (8, 0):
        told |= _fields({185: draw + 120})
    if product.module:
        least, limit, draw = (1000 * watts for watts in product.module)
        told |= _fields({186: draw, 187: least, **dict.fromkeys((188, 189, 190, 192), limit)}, scope=1)
    if product.memory_draw:
        told |= _fields({185: 1000 * product.memory_draw}, scope=2)
    if product.architecture >= BLACKWELL:
        nobody = {"mask": [0] * 8}
        masks = ("perfProfilesMask", "requestedProfilesMask", "enforcedProfilesMask")
        told["nvmlDeviceWorkloadPowerProfileGetCurrentProfiles"] = dict.fromkeys(masks, nobody)
        told |= {f"nvmlDeviceGetFieldValues({number})": error(NO_PERMISSION) for number in (251, 264)}
    return told


def _thermal(product: Product) -> Answers:
    told: Answers = {"nvmlDeviceGetTemperatureV(0)": product.temperature}
    if product.fans:
        told |= {"nvmlDeviceGetFanSpeed": 30, "nvmlDeviceGetFanControlPolicy_v2(0)": 0}
    if product.memory_temperature is not None:
        told |= _fields({82: product.memory_temperature})
    if product.thresholds:
        shutdown, slowdown, memory, gpu = product.thresholds
        limits = {0: shutdown, 1: slowdown, 2: memory, 3: gpu}
        told |= {f"nvmlDeviceGetTemperatureThreshold({kind})": c for kind, c in limits.items() if c is not None}
    if product.margins:
        shutdown, slowdown, memory, gpu = product.margins
        told |= _fields({193: shutdown, 194: slowdown, 195: memory, 196: gpu})
        told["nvmlDeviceGetMarginTemperature"] = 87 - product.temperature
    return told


def _memory(product: Product) -> Answers:
    total, reserved = product.memory * MIB, product.reserved * MIB
    bar1 = product.bar1 * MIB
    told: Answers = {
        "nvmlDeviceGetMemoryInfo": {"total": total, "reserved": reserved, "free": total - reserved, "used": 0},
        "nvmlDeviceGetBAR1MemoryInfo": {"bar1Total": bar1, "bar1Free": bar1 - MIB, "bar1Used": MIB},
        "nvmlDeviceGetConfComputeMemSizeInfo": {"protectedMemSizeKib": 0, "unprotectedMemSizeKib": total >> 10},
        "nvmlDeviceGetConfComputeProtectedMemoryUsage": {"total": 0, "free": 0, "used": 0},
        **_fields({230: 0}),
    }
    if product.ecc == "on":
        told |= dict(_error_counters(product))
    if product.remap:
        told |= _fields({301: 0, 302: 0})
        told["nvmlDeviceGetRemappedRows"] = [0, 0, 0, 0]
        told["nvmlDeviceGetRowRemapperHistogram"] = {
            "max": product.remap, "high": 0, "partial": 0, "low": 0, "none": 0,
        }  # fmt: skip
    elif product.ecc == "on":
        told |= {"nvmlDeviceGetRetiredPagesPendingStatus": 0, **_fields({29: 0, 30: 0, 92: 0, 93: 0})}
    return told


def _error_counters(product: Product) -> Iterator[tuple[str, int | list[int] | Answers]]:
    for kind in (0, 1):
        for scope in (0, 1):
            yield f"nvmlDeviceGetTotalEccErrors({kind},{scope})", 0
            for where in (2, 7) if product.architecture >= AMPERE else (2,):
                yield f"nvmlDeviceGetMemoryErrorCounter({kind},{scope},{where})", 0
    if product.architecture >= ADA:
        counts = "UncParity UncSecDed Cor".split()
        buckets = "L2 Sm Pcie Mcu Other".split()
        names = [f"{scope}{count}" for scope in ("aggregate", "volatile") for count in counts]
        names += [f"aggregateUncBucket{bucket}" for bucket in buckets]
        yield "nvmlDeviceGetSramEccErrorStatus", dict.fromkeys((*names, "bThresholdExceeded"), 0)
        yield "nvmlDeviceGetRepairStatus", [0, 0]
        yield "nvmlDeviceGetUnrepairableMemoryFlag_v1", 0


def _pcie(product: Product) -> Answers:
    board, host, now = product.link_gen
    most = min(board, host)
    speed = {1: 2500, 2: 5000, 3: 8000, 4: 16000, 5: 32000, 6: 64000}
    return {
        "nvmlDeviceGetCurrPcieLinkGeneration": now,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkGeneration": most,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetGpuMaxPcieLinkGeneration": board,
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetPcieSpeed": speed[now],
        "nvmlDeviceGetPcieLinkMaxSpeed": most,  # NVML_PCIE_LINK_MAX_SPEED_*: 1 is 2500 MB/s
        **_fields({94: 0, 95: 0, 197: 0, 198: 0, **dict.fromkeys((169, *range(173, 184)), 0)}),
        **_fields({229 if product.c2c else 228: 0x3F} if product.architecture >= HOPPER else {}),
    }


def _links(product: Product, driver: str) -> Answers:
    if not product.nvlink:
        return _fields({91: 0, 170: 0})
    count, version, speed = product.nvlink
    errors = (38, 45, 52, 59, 160)
    own_errors = (215, 219) if product.architecture >= BLACKWELL else (161, 162, 163)
    told = _fields({91: count, 90: speed, **dict.fromkeys(errors, 0), 170: 10 * product.c2c})
    told |= _fields({138: 0, 139: 0}, scope=ALL_LINKS)
    for link in range(count):
        switch = f"0000:{SWITCHES[link % len(SWITCHES)]}:00.0"
        told |= _fields({164: speed, 165: 1, **dict.fromkeys(own_errors, 0)}, scope=link)
        told[f"nvmlDeviceGetNvLinkState({link})"] = 1
        told[f"nvmlDeviceGetNvLinkVersion({link})"] = version
        told[f"nvmlDeviceGetNvLinkRemotePciInfo({link})"] = pci_info(switch, 0x22A310DE)
        told[f"nvmlDeviceGetNvLinkRemoteDeviceType({link})"] = 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH
    if product.fabric:
        told["nvmlDeviceGetGpuFabricInfoV"] = _fabric(product, driver)
    if product.architecture >= HOPPER:
        told["nvmlDeviceGetNvlinkBwMode"] = {"bIsBest": 1, "bwMode": 0}
    return told


def _fabric(product: Product, driver: str) -> Answers:
    racked = product.c2c
    full = product.architecture >= BLACKWELL
    told = {
        "clusterUuid": list(uuid.UUID(unit("fabric")).bytes) if racked else [0] * 16,
        "status": 0,
        "cliqueId": 32766 if racked else 0,
        "state": 3,  # NVML_GPU_FABRIC_STATE_COMPLETED
        "healthMask": 0x2A2 if full else 0,
        "healthSummary": int(full),
    }
    older = {"healthMask": 550, "healthSummary": 580}
    return {name: value for name, value in told.items() if major(driver) >= older.get(name, 0)}


def _places(node: int) -> Answers:
    mask = ((1 << CPUS_OF_A_NODE) - 1) << node * CPUS_OF_A_NODE
    words = [mask >> 64 * word & (1 << 64) - 1 for word in range(WORDS)]
    return {
        f"nvmlDeviceGetCpuAffinityWithinScope({WORDS},0)": words,
        f"nvmlDeviceGetMemoryAffinity({WORDS},0)": [1 << node, *[0] * (WORDS - 1)],
        "nvmlDeviceGetNumaNodeId": node,
    }


def _peers(product: Product, at: int, count: int) -> Answers:
    told: Answers = {}
    half = (count + 1) // 2
    for other, slot in enumerate(slots(count)):
        if other <= at:
            continue
        together = (at < half) == (other < half)
        topology = SYSTEM_TOPOLOGY if not together else SWITCH_TOPOLOGY if at // 2 == other // 2 else NODE_TOPOLOGY
        told[f"nvmlDeviceGetTopologyCommonAncestor({slot})"] = topology
        plain = P2P_CHIPSET_NOT_SUPPORTED if product.brand == 5 else P2P_OK
        linked = P2P_OK if product.nvlink else P2P_NOT_SUPPORTED
        for index, status in enumerate((plain, plain, linked, linked)):
            told[f"nvmlDeviceGetP2PStatus({slot},{index})"] = status
    return told


def _fields(values: dict[int, int | None], scope: int = 0) -> Answers:
    of = f",{scope}" if scope else ""
    return {f"nvmlDeviceGetFieldValues({number}{of})": value for number, value in values.items() if value is not None}
