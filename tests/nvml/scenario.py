"""What a fake NVML answers, in the language of recordings: device -> key of a call -> answer.

A scenario is JSON: `{"system": {key: answer}, "devices": {"0000:17:00.0": {key: answer}}}`. What is not staged is
NOT_SUPPORTED. In place of an answer stands what the library shall do: `error`, `sleep`, `HANG`, `ABORT`, `read_from`;
under the key `*` of a device, what it shall do in each of its calls. `"listed": false` hides a device, as a container's
cgroup does. `"log": false` in the system's answers: no call is logged, and another scenario is seen after 10 ms; so the
library costs next to nothing.
"""

import re
import signal
from collections.abc import Iterable, Mapping
from typing import Any, Union

from probes.kit.facts import Gap
from probes.kit.nvml.errors import GAPS

Answers = dict[str, Any]
Scenario = dict[str, dict[str, Any]]
Row = tuple[str, str, Any]

HANDLE = "nvmlDeviceGetHandle"
EACH_CALL = "*"
HANG: Answers = {"hang": True}
"""For ever, deaf to every signal that a process can be deaf to."""
ABORT: Answers = {"crash": int(signal.SIGABRT)}
SEGFAULT: Answers = {"crash": int(signal.SIGSEGV)}

# Of the codes that are one gap, the one that a device gives most.
_CODES = {gap: code for code, gap in reversed(tuple(GAPS.items()))} | {"unsupported": 3, "absent": 6, "failed": 999}
_ROW = re.compile(r"(?P<device>[0-9a-f]{4,}:\S+)? ?(?P<key>\S+)")


def error(code: int) -> Answers:
    return {"error": code}


def sleep(seconds: float, then: Any = None) -> Answers:
    """then: the answer, or another doing; None: what would be answered without (under `*`), else NOT_SUPPORTED."""
    return {"sleep": seconds} if then is None else {"sleep": seconds, "then": then}


def read_from(path: str) -> Answers:
    """Reads there first, which takes as long as that file system does; then NOT_SUPPORTED."""
    return {"read": path}


def scenario_of(rows: Iterable[Row]) -> Scenario:
    """What answers as a recorded host did. Rows of other calls than NVML's are passed over."""
    scenario: Scenario = {"system": {}, "devices": {}}
    for call, key, answer in rows:
        if call == "nvml_devices" and not isinstance(answer, Gap):
            scenario["devices"] |= {device: scenario["devices"].get(device, {}) for device in answer}
        elif call == "nvml" and (found := _ROW.fullmatch(key)):
            device = found["device"]
            staged = scenario["devices"].setdefault(device, {}) if device else scenario["system"]
            staged[found["key"]] = _staged(answer)
    return scenario


def rows_of(scenario: Scenario) -> list[Row]:
    """The rows of a recording in which each staged answer stands; what the library shall do is none."""
    rows: list[Row] = [("nvml_devices", "", tuple(d for d in scenario["devices"] if "/" not in d))]
    for device, answers in {"": scenario["system"], **scenario["devices"]}.items():
        rows += [("nvml", f"{device} {key}".strip(), a) for key, a in answers.items() if _is_answer(key, a)]
    return rows


def pci_info(slot: str, device: int = 0, subsystem: int = 0) -> Answers:
    """The struct of a PCI address. device, subsystem: identifier << 16 | vendor, as NVML has them."""
    domain, bus, rest = slot.split(":")
    long = f"{int(domain, 16):08X}:{bus}:{rest}".upper()
    return {
        "busIdLegacy": long[4:],
        "domain": int(domain, 16),
        "bus": int(bus, 16),
        "device": int(rest.partition(".")[0], 16),
        "pciDeviceId": device,
        "pciSubSystemId": subsystem,
        "busId": long,
    }


def _staged(answer: Union[Any, Gap]) -> Any:
    return error(_CODES.get(answer.code, 999)) if isinstance(answer, Gap) else answer


def _is_answer(key: str, answer: Any) -> bool:
    doing = isinstance(answer, Mapping) and answer.keys() & {"error", "sleep", "hang", "crash", "read"}
    return not doing and key not in (EACH_CALL, HANDLE, "listed", "log", "nvmlInit", "nvmlShutdown")
