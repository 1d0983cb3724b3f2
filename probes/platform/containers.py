"""What containers are given of the GPUs, and by whom: NVIDIA's container toolkit, CDI, Docker's settings."""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, seen_or, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex

TOOLKIT = "/usr/bin/nvidia-ctk"
TOOLKIT_SETTINGS = "/etc/nvidia-container-runtime/config.toml"
CDI = ("/etc/cdi", "/var/run/cdi")
DOCKER = "/etc/docker/daemon.json"
VERSION_SECONDS = 0.5
MOST_DEPTH = 8
_VERSION = lazy_regex(r"version\s+v?(\d+\.\d[\w.+-]*)", re.IGNORECASE)
_OF_DOCKER = lazy_regex(
    r"default-runtime|default-shm-size|default-ulimits\..+|exec-opts|cgroup-parent|default-cgroupns-mode|storage-driver"
    r"|data-root|features\.\w+|runtimes\..+|seccomp-profile|userns-remap|live-restore|userland-proxy|iptables|bridge|mtu"
    r"|default-ipc-mode|selinux-enabled|no-new-privileges"
)


class Containers(Section):
    toolkit_version: Seen[str] = config(
        "Which libraries and devices a container gets is decided by this release: 1.18 brings CDI as the default, and "
        "libraries of forward compatibility",
        f"{TOOLKIT} --version",
    )
    toolkit: Seen[Map[Seen[str | Redacted]]] = config(
        "mode (legacy, csv, cdi) decides what of the driver a container is given; no-cgroups, and a runtime that "
        "systemd's reload takes the devices from, lose GPUs while it runs",
        TOOLKIT_SETTINGS,
        follows=("platform/containers/toolkit_version",),
    )
    cdi: Seen[Map[Seen[str]]] = config(
        "What CDI gives is written down once, after the driver was installed: an old file mounts libraries that are no "
        "longer there, or of another version",
        "SHA-256 of the files in /etc/cdi and /var/run/cdi",
        follows=("driver/module/version", "platform/containers/toolkit_version"),
    )
    docker: Seen[Map[Seen[tuple[str | Redacted, ...]]]] = config(
        "Defaults of all containers: the runtime, the size of /dev/shm, limits, the driver of control groups, storage",
        f"{DOCKER}, those that decide on speed",
    )


def read_containers(host: Host) -> Containers:
    return Containers(
        toolkit_version=_version(host),
        toolkit=then(host.text(TOOLKIT_SETTINGS), lambda text: _toolkit(host, text)),
        cdi=_cdi(host),
        docker=then(host.settings(DOCKER), _docker),
    )


def _version(host: Host) -> Seen[str]:
    """The program is started only where there is one."""
    there = host.stat(TOOLKIT)
    if isinstance(there, Gap):
        return there
    return then(host.command([TOOLKIT, "--version"], budget=VERSION_SECONDS), _version_in)


def _version_in(text: str) -> str:
    """`NVIDIA Container Toolkit CLI version 1.17.8`."""
    match = _VERSION.search(text)
    if match is None:
        raise ValueError(f"no version in {text[:80]!r}")
    return match[1]


def _toolkit(host: Host, text: str) -> Map[Seen[str | Redacted]]:
    """Raises ValueError for what is no TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    told = dict(_flattened("", tomllib.loads(text), MOST_DEPTH))
    return Map({name: host.redactor.parameter(name, value) for name, value in told.items()})


def _flattened(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if not depth:
        raise ValueError(f"deeper than {MOST_DEPTH}")
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flattened(f"{path}.{key}" if path else key, item, depth - 1)
    else:
        yield path, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cdi(host: Host) -> Seen[Map[Seen[str]]]:
    """Where one of the folders may not be looked into, none of them is told: half would be taken for all."""
    listed = {folder: host.names(folder) for folder in CDI}
    gaps = [names for names in listed.values() if isinstance(names, Gap)]
    denied = next((gap for gap in gaps if gap.code == "denied"), None)
    if denied or len(gaps) == len(CDI):
        return denied or gaps[0]
    files = (f"{folder}/{name}" for folder, names in listed.items() for name in seen_or(names, ()))
    return Map({path: host.sha256(path) for path in files if path.endswith((".yaml", ".yml", ".json"))})


def _docker(told: Map[Seen[tuple[str | Redacted, ...]]]) -> Map[Seen[tuple[str | Redacted, ...]]]:
    return Map({name: value for name, value in told.items.items() if _OF_DOCKER.fullmatch(name)})
