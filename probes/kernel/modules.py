"""Modules, with what they were built from and the parameters they were given.

All that are loaded, and of the built-in ones those in BUILT_IN: /sys/module lists a few hundred, most of
them without a bearing on speed, some with parameters that are really counters (page_reporting).
"""

from probes.kit.facts import Gap, Map, Redacted, Section, Seen, config, state, then
from probes.kit.host import Host

MODULES = "/sys/module"
BUILT_IN = (
    "acpi_cpufreq", "amd_pstate", "clocksource", "cpufreq", "cpuidle", "cpuidle_haltpoll", "haltpoll", "intel_idle",
    "iommu", "nvme", "nvme_core", "nvidia", "page_alloc", "pci_hotplug", "pcie_aspm", "processor", "rcutree", "tcp_bbr",
    "tcp_cubic", "vfio_iommu_type1", "vfio_pci", "virtio_blk", "virtio_net", "virtio_pci", "workqueue",
)  # fmt: skip


class Module(Section):
    version: Seen[str] = config(
        "The driver's own version; often kept while the code changes",
        f"{MODULES}/*/version",
        follows=("kernel/release", "kernel/version"),
    )
    srcversion: Seen[str] = config(
        "Digest of the sources: a patched module keeps its version string and opens or closes peer access",
        f"{MODULES}/*/srcversion",
        follows=("kernel/release", "kernel/version"),
    )
    taint: Seen[str] = state(
        "Letters for proprietary, out of tree, unsigned or forced", f"{MODULES}/*/taint", settled="always", context=True
    )
    parameters: Seen[Map[Seen[str | Redacted]]] = config(
        "What the module was told at load or since: ASPM policy, idle states, queue counts, peer access",
        f"{MODULES}/*/parameters/*",
    )


def read_modules(host: Host) -> Seen[Map[Module]]:
    return then(_known(host), lambda names: Map({name: _module(host, name) for name in names}))


def _known(host: Host) -> Seen[tuple[str, ...]]:
    loaded = then(host.text("/proc/modules"), _loaded)
    if isinstance(loaded, Gap) and loaded.code == "absent":  # a kernel without modules has no such file
        loaded = ()
    present = then(host.names(MODULES), lambda names: frozenset(names).intersection(BUILT_IN))
    return then(loaded, lambda names: then(present, lambda built_in: tuple(sorted(built_in.union(names)))))


def _loaded(text: str) -> tuple[str, ...]:
    """Names of /proc/modules: NAME SIZE USES USERS STATE ADDRESS. One that comes or goes is left out."""
    rows = [line.split() for line in text.splitlines()]
    return tuple(row[0] for row in rows if row[4] == "Live")


def _module(host: Host, name: str) -> Module:
    folder = f"{MODULES}/{name}"
    return Module(
        version=host.line(f"{folder}/version"),
        srcversion=host.line(f"{folder}/srcversion"),
        taint=host.line(f"{folder}/taint"),
        parameters=_parameters(host, f"{folder}/parameters"),
    )


def _parameters(host: Host, folder: str) -> Seen[Map[Seen[str | Redacted]]]:
    return then(host.names(folder), lambda names: Map({name: _parameter(host, folder, name) for name in names}))


def _parameter(host: Host, folder: str, name: str) -> Seen[str | Redacted]:
    return then(host.line(f"{folder}/{name}"), lambda value: host.redactor.parameter(name, value))
