"""`ibstat` and `ibstatus`: RDMA devices and their ports, in the words that sysfs has for them."""

import re
from collections.abc import Mapping

from fingerprint.imports.dump import Told, of_host
from probes.kit.facts import NOT_READ, Gap, Map, Redacted, Seen, then
from probes.kit.lazy import lazy_regex
from probes.kit.parse import fields
from probes.kit.redact import Redactor
from probes.network import Network
from probes.network.ports import Port, megabits, word
from probes.network.rdma import Device

BEGINS = lazy_regex(r"^CA '(?P<name>[\w.-]+)'[ \t]*$", re.MULTILINE)
STATUS_BEGINS = lazy_regex(
    r"^Infiniband device '(?P<name>[\w.-]+)' port (?P<port>\d+) status:[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_PORT = lazy_regex(r"^[ \t]+Port (?P<number>\d+):[ \t]*$", re.MULTILINE)
_STATES = {"Active": "ACTIVE", "Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED"}
_LEAST_WHOLE = 8
"""Gb/s: below it ibstat cuts a half off."""


def read(text: str, redactor: Redactor) -> Told:
    """Raises ValueError where a device has fewer ports than it says."""
    devices = {found["name"]: _device(found["name"], below, redactor) for found, below in _blocks(BEGINS, text)}
    return of_host({"network": Network(rdma=Map(devices))})


def _blocks(begins: re.Pattern[str], text: str) -> list[tuple[re.Match[str], str]]:
    """Each match, and what stands below it up to an empty line or the next one."""
    found = list(begins.finditer(text))
    ends = (*(match.start() for match in found[1:]), len(text))
    return [(match, text[match.end() + 1 : end].partition("\n\n")[0]) for match, end in zip(found, ends, strict=False)]


def _device(name: str, text: str, redactor: Redactor) -> Device:
    blocks = _blocks(_PORT, text)
    told = fields(text[: blocks[0][0].start()] if blocks else text)
    if told.get("Number of ports") != str(len(blocks)):
        raise ValueError(f"a list of `ibstat` that is cut off: {name} has {len(blocks)} of its ports")
    return Device(
        node_type="CA",
        hca_type=told.get("CA type") or NOT_READ,
        fw_ver=told.get("Firmware version", NOT_READ),
        hw_rev=told.get("Hardware version", NOT_READ),
        node_guid=_guid(told.get("Node GUID", ""), redactor),
        sys_image_guid=_guid(told.get("System image GUID", ""), redactor),
        ports=Map({match["number"]: _port(fields(below)) for match, below in blocks}),
    )


def _guid(printed: str, redactor: Redactor) -> Seen[Redacted]:
    """Redacted as sysfs writes it, `76f4:0fcb:f57a:a64a`, so that it is the same one there."""
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", printed):
        return NOT_READ
    digits = f"{int(printed, 16):016x}"
    return redactor.redacted(":".join(digits[at : at + 4] for at in range(0, 16, 4)))


def _port(told: Mapping[str, str]) -> Port:
    return Port(
        link_layer=told.get("Link layer", NOT_READ),
        state=_STATES.get(told.get("State", ""), NOT_READ),
        phys_state=told.get("Physical state", NOT_READ),
        rate=_rate(told.get("Rate", "")),
        lid=_number(told.get("Base lid", "")),
        sm_lid=_number(told.get("SM lid", "")),
        lid_mask_count=_number(told.get("LMC", "")),
        cap_mask=told.get("Capability mask", NOT_READ),
    )


def _rate(printed: str) -> Seen[int]:
    whole = printed.isdecimal() and int(printed) >= _LEAST_WHOLE
    return int(printed) * 1000 if whole else NOT_READ


def _number(printed: str) -> Seen[int]:
    try:
        return int(printed, 0)
    except ValueError:
        return NOT_READ


def read_status(text: str, _redactor: Redactor) -> Told:
    devices: dict[str, dict[str, Port]] = {}
    for found, below in _blocks(STATUS_BEGINS, text):
        devices.setdefault(found["name"], {})[found["port"]] = _status(fields(below))
    return of_host({"network": Network(rdma=Map({name: Device(ports=Map(ports)) for name, ports in devices.items()}))})


def _status(told: Mapping[str, str]) -> Port:
    def of(name: str) -> Seen[str]:
        return told.get(name) or Gap("not_read")

    return Port(
        link_layer=of("link_layer"),
        state=then(of("state"), word),
        phys_state=then(of("phys state"), word),
        rate=then(of("rate"), megabits),
        lid=_number(told.get("base lid", "")),
        sm_lid=_number(told.get("sm lid", "")),
    )
