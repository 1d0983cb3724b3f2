"""Which processor this is: /proc/cpuinfo in the dialects of the architectures, core types, firmware."""

import re
from collections.abc import Mapping

from probes.kit.facts import Gap, Map, Section, Seen, config, identity, seen_or, state, telemetry, then
from probes.kit.host import Host
from probes.kit.lazy import lazy_regex
from probes.kit.parse import as_cpu_list, cpu_list

SYS_CPU = "/sys/devices/system/cpu"
_DMI = "/sys/class/dmi/id"
# 1.5 KB a thread on x86.
CPUINFO_CAP = 32 << 20


class Processor(Section):
    """/proc/cpuinfo, by the names of x86; the other architectures' words for the same stand in `_LABELS`."""

    vendor: Seen[str] = identity("Libraries choose code paths by vendor, e.g. MKL its AVX2 kernels", "/proc/cpuinfo")
    family: Seen[str] = identity("With model and stepping it names the microarchitecture", "/proc/cpuinfo")
    model: Seen[str] = identity(
        "Two parts of one marketing name differ in cores, caches and exit latencies", "/proc/cpuinfo"
    )
    model_name: Seen[str] = identity(
        "The part as people know it; another one explains every CPU-bound number", "/proc/cpuinfo"
    )
    stepping: Seen[str] = identity(
        "Steppings differ in errata and so in which mitigations are paid for", "/proc/cpuinfo"
    )
    microcode: Seen[str] = config(
        "An update can disable or slow instructions (TSX, gathers) without any other trace",
        "/proc/cpuinfo; the distinct revisions where CPUs differ",
        follows=("cpu/firmware/bios_version",),
    )
    flags: Seen[tuple[str, ...]] = state(
        "Math libraries pick AVX-512, AMX or SVE kernels at load time by these; hypervisors and boot options hide them",
        "/proc/cpuinfo, those common to all CPUs",
        follows=("cpu/processor/microcode", "kernel/release", "kernel/cmdline/clearcpuid", "kernel/cmdline/noxsave*"),
        settled="always",
    )
    hypervisor: Seen[bool] = identity(
        "A guest pays for exits, steal time and a virtual topology that need not match the silicon",
        "/proc/cpuinfo, the flag `hypervisor`",
    )
    hypervisor_type: Seen[str] = identity(
        "Names the hypervisor where it says so itself (Xen)", "/sys/hypervisor/type", context=True
    )


class Frequency(Section):
    """What the CPUs ran at when they were looked at, over all online CPUs."""

    lowest: Seen[int] = telemetry("One slow CPU delays every step that waits for all threads", "/proc/cpuinfo", "kHz")
    median: Seen[int] = telemetry("Shows whether governor and limits were reached in practice", "/proc/cpuinfo", "kHz")
    highest: Seen[int] = telemetry("A cap below the nominal turbo shows here first", "/proc/cpuinfo", "kHz")


class CoreType(Section):
    """CPUs of one kind; a host of equal cores has the one type `cpu`."""

    cpus: Seen[str] = config(
        "Work pinned to efficiency cores runs at half the speed of the same work on performance cores",
        "/sys/devices/cpu_core/cpus, cpu_atom/cpus; the CPU part of /proc/cpuinfo on Arm",
        follows=("cpu/online", "cpu/smt/control"),
    )
    capacity: Seen[int] = identity(
        "The scheduler places tasks by this relative capacity (1024 is the fastest core)",
        f"{SYS_CPU}/cpuN/cpu_capacity",
    )
    base_frequency: Seen[int] = state(
        "The clock that is guaranteed under full load; speed-select profiles change it",
        f"{SYS_CPU}/cpufreq/policyN/base_frequency",
        "kHz",
        settled="always",
    )


class Firmware(Section):
    """What SMBIOS tells without privileges. Serial numbers are not read."""

    sys_vendor: Seen[str] = identity(
        "Server, cloud instance or hypervisor: who made what this kernel runs on", f"{_DMI}/sys_vendor"
    )
    product_name: Seen[str] = identity(
        "The server model or cloud instance type fixes cooling, power and slots", f"{_DMI}/product_name"
    )
    board_name: Seen[str] = identity(
        "Boards of one product differ in PCIe wiring and memory channels", f"{_DMI}/board_name", context=True
    )
    bios_version: Seen[str] = config(
        "A BIOS update resets power profile, NPS, C-state and PCIe options to the maker's defaults",
        f"{_DMI}/bios_version",
    )
    bios_date: Seen[str] = config(
        "Tells BIOS builds apart that carry one version",
        f"{_DMI}/bios_date",
        context=True,
        follows=("cpu/firmware/bios_version",),
    )


# x86; Arm; POWER and SPARC (`cpu`); RISC-V (`m...id`, `uarch`, `isa`); s390 (`features`).
_LABELS: Mapping[str, tuple[str, ...]] = {
    "vendor": ("vendor_id", "CPU implementer", "mvendorid"),
    "family": ("cpu family", "CPU Family", "CPU architecture"),
    "model": ("model", "CPU part", "marchid"),
    "model_name": ("model name", "Model Name", "cpu model", "cpu", "uarch"),
    "stepping": ("stepping", "CPU revision", "revision", "mimpid"),
    "microcode": ("microcode",),
    "flags": ("flags", "Features", "features", "isa"),
}
_MHZ = lazy_regex(r"^(?:[cC][pP][uU] MHz(?: dynamic)?|clock)\s*:\s*([\d.]+)", re.MULTILINE)


def processor(host: Host, cpuinfo: Seen[str]) -> Processor:
    flags = then(_values(cpuinfo, "flags"), _common_words)
    return Processor(
        vendor=_first(cpuinfo, "vendor"),
        family=_first(cpuinfo, "family"),
        model=_model(cpuinfo),
        model_name=_first(cpuinfo, "model_name"),
        stepping=_first(cpuinfo, "stepping"),
        microcode=then(_values(cpuinfo, "microcode"), lambda found: ", ".join(sorted(set(found)))),
        flags=flags,
        hypervisor=then(cpuinfo, lambda text: _is_guest(text, flags)),
        hypervisor_type=host.line("/sys/hypervisor/type"),
    )


def _values(cpuinfo: Seen[str], fact: str) -> Seen[tuple[str, ...]]:
    """Every CPU's value under the first label that this architecture uses."""
    if isinstance(cpuinfo, Gap):
        return cpuinfo
    for label in _LABELS[fact]:
        found = re.findall(rf"^{re.escape(label)}[ \t]*:[ \t]*(.+)$", cpuinfo, re.MULTILINE)
        if found:
            return tuple(value.strip() for value in found)
    return Gap("absent", f"/proc/cpuinfo has none of the lines {', '.join(_LABELS[fact])}")


def _first(cpuinfo: Seen[str], fact: str) -> Seen[str]:
    return then(_values(cpuinfo, fact), lambda found: found[0])


def _model(cpuinfo: Seen[str]) -> Seen[str]:
    """s390 tells the machine type in a line of its own form: `processor 0: version = FF, ... machine = 2964`."""
    model = _first(cpuinfo, "model")
    machine = re.search(r"^processor \d+: .*\bmachine = (\w+)", seen_or(cpuinfo, ""), re.MULTILINE)
    return machine[1] if isinstance(model, Gap) and machine else model


def _common_words(lines: tuple[str, ...]) -> tuple[str, ...]:
    distinct = [set(line.split()) for line in set(lines)]
    return tuple(sorted(set.intersection(*distinct)))


def _is_guest(cpuinfo: str, flags: Seen[tuple[str, ...]]) -> Seen[bool]:
    if isinstance(flags, Gap) or not re.search(r"^flags", cpuinfo, re.MULTILINE):
        return Gap("not_observable", "only the CPU flags of x86 tell a guest")
    return "hypervisor" in flags


def core_types(host: Host, cpuinfo: Seen[str], online: Seen[frozenset[int]]) -> Seen[Mapping[str, frozenset[int]]]:
    """CPUs by type: x86 hybrids by their PMUs, Arm by CPU part, else all online CPUs as `cpu`."""
    if isinstance(online, Gap):
        return online
    by_pmu = {
        pmu: seen_or(then(host.line(f"/sys/devices/{pmu}/cpus"), cpu_list), frozenset())
        for pmu in ("cpu_core", "cpu_atom", "cpu_lowpower")
    }
    types = {pmu: cpus & online for pmu, cpus in by_pmu.items() if cpus & online} or _arm_types(seen_or(cpuinfo, ""))
    return types if len(types) > 1 else {"cpu": online}


def _arm_types(cpuinfo: str) -> dict[str, frozenset[int]]:
    columns = (
        re.findall(rf"^{label}\s*:\s*(\S+)", cpuinfo, re.MULTILINE)
        for label in ("processor", "CPU implementer", "CPU part")
    )
    types: dict[str, frozenset[int]] = {}
    for cpu, implementer, part in zip(*columns, strict=False):
        key = f"{implementer}-{part}"
        types[key] = types.get(key, frozenset()) | {int(cpu)}
    return types


def described_types(host: Host, types: Mapping[str, frozenset[int]]) -> Map[CoreType]:
    return Map({name: _described(host, cpus) for name, cpus in types.items()})


def _described(host: Host, cpus: frozenset[int]) -> CoreType:
    first = min(cpus)
    return CoreType(
        cpus=as_cpu_list(cpus),
        capacity=host.number(f"{SYS_CPU}/cpu{first}/cpu_capacity"),
        # On Intel a read may interrupt the CPU that it asks for (HWP capabilities): one of each type is enough.
        base_frequency=host.number(f"{SYS_CPU}/cpufreq/policy{first}/base_frequency"),
    )


def frequency(host: Host, cpuinfo: Seen[str], policies: Mapping[str, str]) -> Frequency:
    """From /proc/cpuinfo where it tells MHz, because before Linux 5.18 each stale `scaling_cur_freq` sleeps
    20 ms on x86 (arch/x86/kernel/cpu/aperfmperf.c) and /proc/cpuinfo but once; else from the policies."""
    khz = [round(float(mhz) * 1000) for mhz in _MHZ.findall(seen_or(cpuinfo, ""))]
    if not khz:
        each = [host.number(f"{folder}/scaling_cur_freq") for folder in policies.values()]
        khz = [value for value in each if not isinstance(value, Gap)]
    if not khz:
        nowhere = Gap("not_observable", "neither /proc/cpuinfo nor cpufreq tells a frequency")
        return Frequency(lowest=nowhere, median=nowhere, highest=nowhere)
    return Frequency(lowest=min(khz), median=sorted(khz)[len(khz) // 2], highest=max(khz))


def firmware(host: Host) -> Firmware:
    return Firmware(
        sys_vendor=host.line(f"{_DMI}/sys_vendor"),
        product_name=host.line(f"{_DMI}/product_name"),
        board_name=host.line(f"{_DMI}/board_name"),
        bios_version=host.line(f"{_DMI}/bios_version"),
        bios_date=host.line(f"{_DMI}/bios_date"),
    )
