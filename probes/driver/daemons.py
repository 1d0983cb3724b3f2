"""The programs beside the driver: who keeps it loaded, who manages the fabric, who watches the GPUs."""

import re
from collections.abc import Mapping

from probes.kit.daemons import Running
from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, state, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.units import Units

FABRIC_MANAGER = "nvidia-fabricmanager"
MPS = {"nvidia-mps-control": "nvidia-cuda-mps-control", "nvidia-mps-server": "nvidia-cuda-mps-server"}
PROGRAMS: Mapping[str, str] = {
    "nvidia-persistenced": "nvidia-persistenced",
    "nvidia-powerd": "nvidia-powerd",
    FABRIC_MANAGER: "nv-fabricmanager",
    "nvidia-imex": "nvidia-imex",
    "nvidia-dcgm": "nv-hostengine",
    "dcgm-exporter": "dcgm-exporter",
    **MPS,
}
"""Unit's name -> program. The two of MPS share the 15 bytes that the kernel keeps of a name."""
TELLING = (FABRIC_MANAGER, "nvidia-imex", "nvidia-dcgm")
"""Those whose `--version` is asked: they come in packages of their own, and may be of another version."""
VERSION_SECONDS = 0.5
_VERSION = lazy_regex(r"version\b[^\d\n]*(\d+\.[\d.]*\d)", re.IGNORECASE)


class Daemon(Section):
    running: Seen[bool] = state(
        "Without persistenced the driver forgets limits and locks when its last user ends; without a fabric manager "
        "NVLink is down; powerd moves power limits by itself; DCGM's and MPS's processes take part in every job",
        "/proc/*/comm",
        settled="always",
    )
    arguments: Seen[tuple[str | Redacted, ...]] = config(
        "--no-persistence-mode leaves persistence off while the daemon runs; intervals of what DCGM watches",
        "/proc/*/cmdline",
        follows=("driver/daemons/*/running",),
    )
    unit: Seen[str] = config(
        "Whether it will be there after the next boot: enabled, disabled or masked. `running` tells of now",
        "links in /etc/systemd/system",
        context=True,
    )
    version: Seen[str] = config(
        "A fabric manager of another version than the driver refuses to work: CUDA error 802 after an upgrade of one",
        "its --version",
    )


def read_daemons(host: Host) -> Map[Daemon]:
    running, units = Running(host, tuple(PROGRAMS.values())), Units(host)
    return Map({name: _daemon(host, name, running.pid(program), units) for name, program in PROGRAMS.items()})


def _daemon(host: Host, name: str, pid: Seen[int | None], units: Units) -> Daemon:
    return Daemon(
        running=then(pid, lambda number: number is not None),
        arguments=then(pid, lambda number: _arguments(host, number)),
        unit=units.state(name),
        version=_version(host, PROGRAMS[name]) if name in TELLING else Gap("not_read"),
    )


def _arguments(host: Host, pid: int | None) -> Seen[tuple[str | Redacted, ...]]:
    if pid is None:
        return Gap("absent", "it does not run")
    return then(host.arguments(pid), lambda argv: argv[1:])


def _version(host: Host, program: str) -> Seen[str]:
    path = f"/usr/bin/{program}"
    there = host.stat(path)
    if isinstance(there, Gap):
        return there
    return then(host.command([path, "--version"], budget=VERSION_SECONDS), version_in)


def version_in(text: str) -> str:
    """`Fabric Manager version is : 535.161.08`, `IMEX version is: 580.105.08`, `Version : 4.7.0`."""
    match = _VERSION.search(text)
    if match is None:
        raise ValueError(f"no version in {text[:80]!r}")
    return match[1]
