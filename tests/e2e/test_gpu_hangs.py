"""Whatever NVML does to the process that calls it, snapshots and runs end in their time, keep the rest and name it."""

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fingerprint.reader import Reader, take_snapshot
from fingerprint.snapshot import Job, Snapshot
from probes.kit.nvml import inquiry
from probes.kit.nvml.inquiry import FIELDS, Argument, key_of
from probes.kit.probe import discover
from tests.e2e.conftest import Cli
from tests.e2e.test_hung_host import HungHost
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import Fake, FakeNvml, lose
from tests.nvml.profiles import host_of
from tests.nvml.scenario import ABORT, EACH_CALL, HANDLE, HANG, SEGFAULT, read_from, sleep
from tests.waiting import until

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"
MIG = f"{ONE}/mig/0"
ASKING = ("driver", "gpu")
SHORT = {"FINGERPRINT_NVML_BUDGET_S": "0.8", "FINGERPRINT_NVML_GPU_BUDGET_S": "0.4"}


class Hung(NamedTuple):
    """A call that never returns. device: "" for the system. earlier: facts that were answered before it is made."""

    device: str
    key: str
    earlier: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """Until NVML has told a GPU's address it is known by its number."""
        device = "index 1" if self.key in (HANDLE, "nvmlDeviceGetPciInfo_v3") else self.device
        return f"in {self.key}{f' on {device}' if device else ''} (pid"


# A fact that each phase of a pass answers, by the phase's first call.
ANSWERED = {
    "nvmlDeviceGetName": "gpu/*/uuid",
    "nvmlDeviceGetPersistenceMode": "gpu/*/power_limit",
    "nvmlDeviceGetPerformanceState": "gpu/*/clocks/sm",
    "nvmlDeviceGetMarginTemperature": "gpu/*/temperature/margin",
    "nvmlDeviceGetMaxPcieLinkGeneration": "gpu/*/pcie/link_gen_max",
    "nvmlDeviceGetTotalEccErrors": "gpu/*/ecc/volatile/sram_corrected",
    "nvmlDeviceGetCpuAffinityWithinScope": "gpu/*/affinity/cpus",
}


def calls_of(device: str, phase: Sequence[inquiry.Called], earlier: tuple[str, ...]) -> Iterator[Hung]:
    """Many fields are one call, which is named by the first of them."""
    for name, args in phase:
        yield Hung(device, key_of(name, _first(args) if name == FIELDS else args), earlier)


def _first(fields: tuple[Argument, ...]) -> tuple[Argument, ...]:
    return fields[0] if isinstance(fields[0], tuple) else (fields[0],)


def every_call() -> Iterator[Hung]:
    yield Hung("", "nvmlInit")
    yield from calls_of("", inquiry.SYSTEM, ())
    earlier: tuple[str, ...] = ("driver/nvml/driver_version",)
    yield Hung("", "nvmlDeviceGetCount", earlier)
    yield Hung(TWO, HANDLE, earlier)
    for phase in inquiry.SNAPSHOT_PHASES:
        yield from calls_of(TWO, phase, earlier)
        earlier += tuple(fact for call, fact in ANSWERED.items() if call == phase[0][0])
    yield Hung(ONE, "nvmlDeviceGetMigDeviceHandleByIndex(0)", earlier)
    yield from calls_of(MIG, inquiry.MIG_DEVICE, earlier)
    yield from (Hung(TWO, key_of(name, (7,)), earlier) for name in inquiry.LINK)
    yield Hung(TWO, key_of(FIELDS, (inquiry.LINK_FIELDS[0], 7)), earlier)
    yield from (Hung(ONE, key_of(name, (TWO, *args)), earlier) for name, args in inquiry.PEER)


EVERYDAY = {
    "nvmlInit", "nvmlSystemGetDriverVersion", HANDLE, "nvmlDeviceGetUUID",
    "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetFieldValues(91)",
    "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetNvLinkState(7)",
    f"nvmlDeviceGetP2PStatus({TWO},2)",
}  # fmt: skip


def params() -> Iterator[Any]:
    for hung in every_call():
        everyday = hung.key in EVERYDAY and "/" not in hung.device
        yield pytest.param(hung, id=f"{hung.key} {hung.device}".strip(), marks=() if everyday else pytest.mark.long)


@pytest.fixture
def fake(fake_nvml: FakeNvml, fingerprint: Cli) -> Fake:
    """Two GPUs, on the first of which MIG is on."""
    scenario = host_of("H100 SXM", 2, NEWEST)
    scenario["devices"][ONE] |= {"nvmlDeviceGetMigMode": [1, 1]}
    scenario["devices"][MIG] = {"nvmlDeviceGetUUID": "MIG-1", "nvmlDeviceGetGpuInstanceId": 1}
    made = fake_nvml(scenario)
    fingerprint.env |= {"FINGERPRINT_NVML": str(made.library), "FINGERPRINT_NVML_LOCK": str(made.lock), **SHORT}
    return made


def snapshot(fingerprint: Cli, **how: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fingerprint("snapshot", "--format", "json", **how).stdout)
    return found


Leaves = dict[str, Any]


def leaves(document: dict[str, Any], *areas: str) -> Leaves:
    """Fact's path -> value; a gap is a `Missing`."""
    wanted = areas or tuple(document["sections"])
    return {path: value for area in wanted for path, value in _leaves(area, document["sections"][area]["facts"])}


class Missing(NamedTuple):
    code: str
    detail: str


def _leaves(path: str, told: Any) -> Iterator[tuple[str, Any]]:
    form = told.get("$") if isinstance(told, dict) else None
    if form == "gap":
        yield path, Missing(told["code"], told.get("detail", ""))
    elif isinstance(told, dict):
        below = told["items"] if form == "map" else told
        for name, value in below.items():
            yield from _leaves(path if (path, name) == ("gpu", "gpus") else f"{path}/{name}", value)
    else:
        yield path, told


def matching(found: Leaves, glob: str) -> list[Any]:
    pattern = re.escape(glob).replace(r"\*", "[^/]+")
    return [value for path, value in found.items() if re.fullmatch(pattern, path)]


def details(found: Leaves) -> set[str]:
    return {value.detail for value in found.values() if isinstance(value, Missing)}


@pytest.mark.parametrize("hung", [*params()])
def test_a_call_that_hangs_costs_what_it_and_later_ones_tell(fingerprint: Cli, fake: Fake, hung: Hung) -> None:
    well = leaves(snapshot(fingerprint))
    (fake.scenario["devices"][hung.device] if hung.device else fake.scenario["system"])[hung.key] = HANG
    fake.save()
    document = snapshot(fingerprint)
    assert {section["outcome"] for section in document["sections"].values()} == {"ok"}
    assert not [path for path in matching_gaps(leaves(document), "timed_out") if path.split("/")[0] not in ASKING]
    found = leaves(document)
    assert any(hung.named in detail for detail in details(found)), details(found)
    for glob in hung.earlier:
        seen = matching(found, glob)
        assert seen == matching(well, glob)
        assert seen
    invented = {path: value for path, value in found.items() if path in lasting(well) and value != well[path]}
    assert {path for path, value in invented.items() if not isinstance(value, Missing)} == set()


def matching_gaps(found: Leaves, code: str) -> list[str]:
    return [path for path, value in found.items() if isinstance(value, Missing) and value.code == code]


def lasting(well: Leaves) -> list[str]:
    return [path for path in well if path.split("/")[0] in ASKING and not path.endswith("/query_ms")]
