"""How many CPUs there are, how they share cores, packages and caches, and which are kept apart."""

import re
from collections.abc import Mapping

from probes.cpu.processor import SYS_CPU
from probes.kit.facts import Gap, Map, Section, Seen, config, counter, identity, seen_or, state, then
from probes.kit.host import Host
from probes.kit.parse import as_cpu_list, cpu_list, cpu_mask


class Smt(Section):
    control: Seen[str] = config(
        "SMT off halves the CPUs a server may use and doubles what each gets of a core: it has cost and gained 2x",
        f"{SYS_CPU}/smt/control",
        follows=("kernel/cmdline/nosmt", "kernel/cmdline/mitigations", "kernel/cmdline/l1tf", "kernel/cmdline/mds"),
        restore=f"echo {{value}} > {SYS_CPU}/smt/control",
    )
    active: Seen[bool] = config(
        "Whether threads of one core compete right now",
        f"{SYS_CPU}/smt/active",
        follows=("cpu/smt/control", "cpu/online"),
    )


class Package(Section):
    cpus: Seen[str] = config(
        "Work that spans packages pays the inter-socket link",
        f"{SYS_CPU}/cpuN/topology/core_siblings_list",
        follows=("cpu/online", "cpu/smt/control"),
    )
    throttle_count: Seen[int] = counter(
        "The package was clocked down for heat so many times", f"{SYS_CPU}/cpuN/thermal_throttle/package_throttle_count"
    )
    throttle_time: Seen[int] = counter(
        "How long heat held the package down", f"{SYS_CPU}/cpuN/thermal_throttle/package_throttle_total_time_ms", "ms"
    )


class Cache(Section):
    """One level and type of cache, as the first CPU of a core type sees it."""

    size: Seen[int] = identity(
        "A working set that no longer fits runs at the next level's bandwidth",
        f"{SYS_CPU}/cpuN/cache/indexM/size",
        "KiB",
    )
    shared_by: Seen[int] = state(
        "More CPUs on one cache leave each a smaller share; a hypervisor may show another sharing than the silicon's",
        f"{SYS_CPU}/cpuN/cache/indexM/shared_cpu_list",
        "CPUs",
        follows=("cpu/online", "cpu/smt/control"),
        settled="always",
    )
    line_size: Seen[int] = identity(
        "The grain of false sharing between threads",
        f"{SYS_CPU}/cpuN/cache/indexM/coherency_line_size",
        "B",
        context=True,
    )
    ways: Seen[int] = identity(
        "Cache allocation (resctrl) hands out ways", f"{SYS_CPU}/cpuN/cache/indexM/ways_of_associativity", context=True
    )


def smt(host: Host) -> Smt:
    return Smt(
        control=host.line(f"{SYS_CPU}/smt/control"),
        active=then(host.number(f"{SYS_CPU}/smt/active"), bool),
    )


def cpus(host: Host, name: str) -> Seen[frozenset[int]]:
    """A list of CPUs under /sys/devices/system/cpu; `(null)` is how an unset mask prints."""
    return then(host.line(f"{SYS_CPU}/{name}"), lambda text: cpu_list("" if text == "(null)" else text))


def online_cpus(host: Host) -> Seen[frozenset[int]]:
    """As the kernel lists them; where an old one does not, those that have a place in the topology."""
    online = cpus(host, "online")
    if not isinstance(online, Gap):
        return online
    numbers = then(host.names(SYS_CPU), lambda names: [int(n[3:]) for n in names if re.fullmatch(r"cpu\d+", n)])
    placed = [n for n in seen_or(numbers, []) if not isinstance(host.names(f"{SYS_CPU}/cpu{n}/topology"), Gap)]
    return frozenset(placed) or online


def listed(cpus: Seen[frozenset[int]]) -> Seen[str]:
    return then(cpus, as_cpu_list)


def domains(host: Host, online: frozenset[int], file: str) -> Seen[tuple[frozenset[int], ...]]:
    """The groups that sibling lists make of the online CPUs: one read a group, not one a CPU."""
    found: list[frozenset[int]] = []
    left = set(online)
    while left:
        cpu = min(left)
        folder = f"{SYS_CPU}/cpu{cpu}/topology"
        group = _group(host, f"{folder}/{file}_list", f"{folder}/{file}")
        if isinstance(group, Gap):
            return group
        found.append(group & online | {cpu})
        left -= group | {cpu}
    return tuple(found)


def _group(host: Host, listed: str, masked: str) -> Seen[frozenset[int]]:
    """From the file with a list, or that with a mask: the first kernels with a topology had no lists."""
    group = then(host.line(listed), cpu_list)
    return then(host.line(masked), cpu_mask) if isinstance(group, Gap) else group


def packages(host: Host, online: frozenset[int]) -> Seen[Map[Package]]:
    # package_cpus_list is the name since Linux 5.3; the old one is kept beside it.
    groups = domains(host, online, "core_siblings")
    return then(groups, lambda found: Map({name: _package(host, g) for name, g in _named(host, found).items()}))


def _named(host: Host, groups: tuple[frozenset[int], ...]) -> Mapping[str, frozenset[int]]:
    """By the name of the package; groups that a hypervisor gave one number are one package."""
    named: dict[str, frozenset[int]] = {}
    for group in groups:
        name = _package_name(host, min(group))
        named[name] = named.get(name, frozenset()) | group
    return named


def _package_name(host: Host, cpu: int) -> str:
    """`package0`; `cpu0` where the platform does not number its packages (-1) or does not say."""
    number = host.number(f"{SYS_CPU}/cpu{cpu}/topology/physical_package_id")
    return f"cpu{cpu}" if isinstance(number, Gap) or number < 0 else f"package{number}"


def _package(host: Host, group: frozenset[int]) -> Package:
    throttle = f"{SYS_CPU}/cpu{min(group)}/thermal_throttle"
    return Package(
        cpus=as_cpu_list(group),
        throttle_count=host.number(f"{throttle}/package_throttle_count"),
        throttle_time=host.number(f"{throttle}/package_throttle_total_time_ms"),
    )


def caches(host: Host, types: Mapping[str, frozenset[int]]) -> Seen[Map[Cache]]:
    """Keyed `L2`, or `L2.TYPE` where core types differ. A gap where no type's caches can be read."""
    found: dict[str, Cache] = {}
    gap = Gap("absent", "no CPU")
    for name, members in types.items():
        folder = f"{SYS_CPU}/cpu{min(members)}/cache"
        indexes = host.names(folder)
        if isinstance(indexes, Gap):
            gap = indexes
            continue
        suffix = f".{name}" if len(types) > 1 else ""
        found |= {
            _cache_name(host, f"{folder}/{i}") + suffix: _cache(host, f"{folder}/{i}")
            for i in indexes
            if i.startswith("index")
        }
    return Map(found) if found else gap


def _cache_name(host: Host, folder: str) -> str:
    """`L1d`, `L1i`, `L2`; the folder's name where level or type cannot be read."""
    level, kind = host.line(f"{folder}/level"), host.line(f"{folder}/type")
    if isinstance(level, Gap) or isinstance(kind, Gap):
        return folder.rpartition("/")[2]
    return f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")


def _cache(host: Host, folder: str) -> Cache:
    return Cache(
        size=then(host.line(f"{folder}/size"), lambda text: int(text.removesuffix("K"))),
        shared_by=then(_group(host, f"{folder}/shared_cpu_list", f"{folder}/shared_cpu_map"), len),
        line_size=host.number(f"{folder}/coherency_line_size"),
        ways=host.number(f"{folder}/ways_of_associativity"),
    )
