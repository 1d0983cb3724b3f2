"""GPUs whose NVML hangs, crashes or is slow, and what `fingerprint` tells of them."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.conftest import Cli
from tests.nvml.drivers import NEWEST
from tests.nvml.fake import Fake, FakeNvml
from tests.nvml.profiles import host_of

ONE, TWO = "0000:17:00.0", "0000:2a:00.0"
MIG = f"{ONE}/mig/0"
ASKING = ("driver", "gpu")
"""The areas that ask NVML."""
SHORT = {"FINGERPRINT_NVML_BUDGET_S": "0.8", "FINGERPRINT_NVML_GPU_BUDGET_S": "0.4"}


def two_gpus(fake_nvml: FakeNvml, fingerprint: Cli) -> Fake:
    """What this fingerprint asks, with little patience: on the first MIG is on."""
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
            yield from _leaves(f"{path}/{name}", value)
    else:
        yield path, told


def matching(found: Leaves, glob: str) -> list[Any]:
    pattern = re.escape(glob).replace(r"\*", "[^/]+")
    return [value for path, value in found.items() if re.fullmatch(pattern, path)]


def details(found: Leaves) -> set[str]:
    return {value.detail for value in found.values() if isinstance(value, Missing)}


def matching_gaps(found: Leaves, code: str) -> list[str]:
    return [path for path, value in found.items() if isinstance(value, Missing) and value.code == code]


def lasting(well: Leaves) -> list[str]:
    return [path for path in well if path.split("/")[0] in ASKING and not path.endswith("/query_ms")]


def started(fingerprint: Cli, *args: str, **how: Any) -> "subprocess.Popen[bytes]":
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(fingerprint.argv(*args), env=fingerprint.env, cwd=fingerprint.home, **{**pipes, **how})


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from its state on."""
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
