"""What decides how fast the CPUs may run: cpufreq policies, drivers, turbo, uncore and power limits."""

import re
from collections.abc import Iterator, Mapping

from probes.cpu.processor import SYS_CPU
from probes.kit.facts import Gap, Map, Section, Seen, config, identity, seen_or, state, then
from probes.kit.host import Host
from probes.kit.parse import as_cpu_list, cpu_list

_POLICY = f"{SYS_CPU}/cpufreq/policyN"
_POWERCAP = "/sys/class/powercap"
_UNCORE = f"{SYS_CPU}/intel_uncore_frequency"
_SET = f"echo {{value}} > {SYS_CPU}/cpufreq/{{key}}/"
_TURBO = ("cpu/intel_pstate/no_turbo", "cpu/boost", "cpu/policies/*/boost")


class Policy(Section):
    """One cpufreq policy: the CPUs that share a clock, or that are steered together."""

    related_cpus: Seen[str] = identity(
        "Says which CPUs a policy's settings reach", f"{_POLICY}/related_cpus", context=True
    )
    scaling_governor: Seen[str] = config(
        "`powersave` and `ondemand` ramp up late for bursts of launch work: 8 % of memory bandwidth, 4x for copies",
        f"{_POLICY}/scaling_governor",
        follows=("cpu/scaling_driver",),
        restore="cpupower frequency-set -g {value}",
    )
    scaling_setspeed: Seen[int] = config(
        "Under the governor `userspace` this is the frequency, whatever the load", f"{_POLICY}/scaling_setspeed", "kHz",
        follows=("cpu/policies/*/scaling_governor",), restore=f"{_SET}scaling_setspeed",
    )  # fmt: skip
    energy_performance_preference: Seen[str] = config(
        "With HWP and amd-pstate the hardware picks the clock, and this hint weighs speed against energy",
        f"{_POLICY}/energy_performance_preference",
        follows=("cpu/scaling_driver", "cpu/policies/*/scaling_governor", "cpu/platform_profile"),
        restore=f"{_SET}energy_performance_preference",
    )
    energy_performance_preference_val: Seen[int] = config(
        "The same hint as a number (0 is fastest), where cppc_cpufreq offers it, as on Grace and GB10",
        f"{_POLICY}/energy_performance_preference_val",
        restore=f"{_SET}energy_performance_preference_val",
    )
    auto_select: Seen[bool] = config(
        "With it on, CPPC firmware chooses the clock between the limits and the governor no longer does",
        f"{_POLICY}/auto_select",
        restore=f"{_SET}auto_select",
    )
    energy_perf_bias: Seen[int] = config(
        "The older Intel hint (0 performance, 15 powersave), which also slows uncore ramps; read where no EPP exists",
        f"{SYS_CPU}/cpuN/power/energy_perf_bias",
        restore="cpupower set -b {value}",
    )
    scaling_min_freq: Seen[int] = config(
        "A floor keeps cores from dropping between bursts", f"{_POLICY}/scaling_min_freq", "kHz",
        follows=("cpu/scaling_driver", "cpu/policies/*/scaling_governor", "cpu/policies/*/cpuinfo_min_freq"),
        restore=f"{_SET}scaling_min_freq",
    )  # fmt: skip
    # The smallest of all requests: the user's, the firmware's (_PPC) and, where the CPU is a cooling
    # device, the thermal zone's (drivers/cpufreq/freq_table.c, cpufreq_cooling.c). It is quiet unless somebody acts.
    scaling_max_freq: Seen[int] = config(
        "A ceiling below the hardware's holds single-threaded launch work down",
        f"{_POLICY}/scaling_max_freq",
        "kHz",
        follows=("cpu/scaling_driver", "cpu/policies/*/bios_limit", "cpu/policies/*/cpuinfo_max_freq", *_TURBO),
        restore=f"{_SET}scaling_max_freq",
    )
    cpuinfo_min_freq: Seen[int] = identity(
        "The hardware's lowest clock", f"{_POLICY}/cpuinfo_min_freq", "kHz", context=True
    )
    cpuinfo_max_freq: Seen[int] = state(
        "The hardware's highest clock; it falls to the base clock when turbo is off",
        f"{_POLICY}/cpuinfo_max_freq", "kHz", follows=("cpu/scaling_driver", *_TURBO), settled="always",
    )  # fmt: skip
    bios_limit: Seen[int] = state(
        "Firmware lowers it on a lost power supply or a hot inlet, and no governor can exceed it",
        f"{_POLICY}/bios_limit", "kHz", settled="always",
    )  # fmt: skip
    boost: Seen[bool] = config(
        "Turbo for this policy alone", f"{_POLICY}/boost", follows=("cpu/boost",), restore=f"{_SET}boost"
    )


class IntelPstate(Section):
    """The global knobs of intel_pstate; absent with another driver."""

    status: Seen[str] = config(
        "`active` lets the hardware choose the clock, `passive` the scheduler's governors",
        f"{SYS_CPU}/intel_pstate/status",
        follows=("kernel/cmdline/intel_pstate",),
        restore=f"echo {{value}} > {SYS_CPU}/intel_pstate/status",
    )
    no_turbo: Seen[bool] = config(
        "Without turbo a core stays at its base clock, often half of what one busy thread gets",
        f"{SYS_CPU}/intel_pstate/no_turbo", restore=f"echo {{value}} > {SYS_CPU}/intel_pstate/no_turbo",
    )  # fmt: skip
    max_perf_pct: Seen[int] = config(
        "Caps every core at a share of its maximum and shows in no policy", f"{SYS_CPU}/intel_pstate/max_perf_pct", "%",
        restore=f"echo {{value}} > {SYS_CPU}/intel_pstate/max_perf_pct",
    )  # fmt: skip
    min_perf_pct: Seen[int] = config(
        "Tuning profiles raise this floor to keep latency even", f"{SYS_CPU}/intel_pstate/min_perf_pct", "%",
        follows=_TURBO, restore=f"echo {{value}} > {SYS_CPU}/intel_pstate/min_perf_pct",
    )  # fmt: skip
    hwp_dynamic_boost: Seen[bool] = config(
        "Raises the floor for tasks that wake from I/O", f"{SYS_CPU}/intel_pstate/hwp_dynamic_boost",
        restore=f"echo {{value}} > {SYS_CPU}/intel_pstate/hwp_dynamic_boost",
    )  # fmt: skip


class AmdPstate(Section):
    """The global knobs of amd_pstate; absent with another driver."""

    status: Seen[str] = config(
        "Decides whether EPP or a governor steers Zen cores", f"{SYS_CPU}/amd_pstate/status",
        follows=("kernel/cmdline/amd_*",), restore=f"echo {{value}} > {SYS_CPU}/amd_pstate/status",
    )  # fmt: skip
    prefcore: Seen[str] = config(
        "Whether the scheduler prefers the cores that clock highest",
        f"{SYS_CPU}/amd_pstate/prefcore",
        follows=("kernel/cmdline/amd_*",),
    )


class Uncore(Section):
    """Clock limits of one Intel mesh domain."""

    min_freq_khz: Seen[int] = config(
        "A low floor lets the mesh clock fall while only the GPU works, and DMA and host memory slow down with it",
        f"{_UNCORE}/DOMAIN/min_freq_khz", "kHz", restore=f"echo {{value}} > {_UNCORE}/{{key}}/min_freq_khz",
    )  # fmt: skip
    max_freq_khz: Seen[int] = config(
        "Caps last-level cache and memory controller bandwidth", f"{_UNCORE}/DOMAIN/max_freq_khz", "kHz",
        restore=f"echo {{value}} > {_UNCORE}/{{key}}/max_freq_khz",
    )  # fmt: skip


class PowerZone(Section):
    """RAPL limits of one package. Where firmware holds the limits they cannot be read here."""

    name: Seen[str] = identity("Which part of the machine the limit is for", f"{_POWERCAP}/ZONE/name", context=True)
    enabled: Seen[bool] = config("Whether the zone's limits are enforced", f"{_POWERCAP}/ZONE/enabled")
    constraint_0_power_limit_uw: Seen[int] = config(
        "The long-term limit: under sustained load the package clocks down to stay below it",
        f"{_POWERCAP}/ZONE/constraint_0_power_limit_uw",
        "uW",
        restore=f"echo {{value}} > {_POWERCAP}/{{key}}/constraint_0_power_limit_uw",
    )
    constraint_1_power_limit_uw: Seen[int] = config(
        "The short-term limit: how far a burst may exceed the long-term one",
        f"{_POWERCAP}/ZONE/constraint_1_power_limit_uw",
        "uW",
        restore=f"echo {{value}} > {_POWERCAP}/{{key}}/constraint_1_power_limit_uw",
    )


def policy_folders(host: Host) -> Seen[Mapping[str, str]]:
    """Policy name -> folder. Before Linux 4.3 policies stood as cpuN/cpufreq, linked from each of their CPUs."""
    names = host.names(f"{SYS_CPU}/cpufreq")
    found = [name for name in seen_or(names, ()) if name.startswith("policy")]
    if found:
        return {name: f"{SYS_CPU}/cpufreq/{name}" for name in sorted(found, key=_number)}
    old = dict(_old_policies(host, seen_or(host.names(SYS_CPU), ())))
    if old:
        return old
    return names if isinstance(names, Gap) else Gap("absent", "no cpufreq driver: firmware or hypervisor set clocks")


def _old_policies(host: Host, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for cpu in sorted(_number(name) for name in names if re.fullmatch(r"cpu\d+", name)):
        folder = f"{SYS_CPU}/cpu{cpu}/cpufreq"
        members = then(host.line(f"{folder}/related_cpus"), _spaced_list)
        if not isinstance(members, Gap) and cpu == min(members, default=-1):
            yield f"policy{cpu}", folder


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name) or -1)


def _spaced_list(text: str) -> frozenset[int]:
    """cpufreq lists CPUs as `0 1 2`, some trees as `0-2`."""
    return cpu_list(text.replace(" ", ","))


def policies(host: Host, folders: Mapping[str, str]) -> Map[Policy]:
    alike = _Alike(host)
    return Map({key: _policy(host, alike, key, folder) for key, folder in folders.items()})


class _Alike:
    """Reads folders that hold the same files. What one lacks is not asked of the next: one driver serves the
    machine and gives every policy the same files (cpufreq_register_driver refuses a second driver)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lacking: dict[str, Gap] = {}

    def line(self, folder: str, file: str) -> Seen[str]:
        if file in self._lacking:
            return self._lacking[file]
        text = self._host.line(f"{folder}/{file}")
        if isinstance(text, Gap) and text.code in ("absent", "not_read"):
            self._lacking[file] = text
        return text

    def number(self, folder: str, file: str) -> Seen[int]:
        return then(self.line(folder, file), int)


def _policy(host: Host, alike: _Alike, key: str, folder: str) -> Policy:
    governor = alike.line(folder, "scaling_governor")
    hint = alike.line(folder, "energy_performance_preference")
    return Policy(
        related_cpus=then(then(alike.line(folder, "related_cpus"), _spaced_list), as_cpu_list),
        scaling_governor=governor,
        scaling_setspeed=_set_speed(host, folder, governor),
        energy_performance_preference=hint,
        energy_performance_preference_val=alike.number(folder, "energy_performance_preference_val"),
        auto_select=then(alike.number(folder, "auto_select"), bool),
        energy_perf_bias=_bias(alike, key, hint),
        scaling_min_freq=alike.number(folder, "scaling_min_freq"),
        scaling_max_freq=alike.number(folder, "scaling_max_freq"),
        cpuinfo_min_freq=alike.number(folder, "cpuinfo_min_freq"),
        cpuinfo_max_freq=alike.number(folder, "cpuinfo_max_freq"),
        bios_limit=alike.number(folder, "bios_limit"),
        boost=then(alike.number(folder, "boost"), bool),
    )


def _set_speed(host: Host, folder: str, governor: Seen[str]) -> Seen[int]:
    if governor != "userspace":
        return Gap("unsupported", "only the governor userspace has it")
    return host.number(f"{folder}/scaling_setspeed")


def _bias(alike: _Alike, policy: str, hint: Seen[str]) -> Seen[int]:
    """Reading it interrupts the CPU (rdmsr), so only where the newer hint is missing."""
    if not isinstance(hint, Gap):
        return Gap("unsupported", "energy_performance_preference is in force")
    return alike.number(f"{SYS_CPU}/cpu{_number(policy)}", "power/energy_perf_bias")


def intel_pstate(host: Host) -> IntelPstate:
    folder = f"{SYS_CPU}/intel_pstate"
    status = host.line(f"{folder}/status")
    if status == "off":  # every other file then answers EAGAIN
        off = Gap("unsupported", "intel_pstate is off")
        return IntelPstate(status=status, no_turbo=off, max_perf_pct=off, min_perf_pct=off, hwp_dynamic_boost=off)
    return IntelPstate(
        status=status,
        no_turbo=then(host.number(f"{folder}/no_turbo"), bool),
        max_perf_pct=host.number(f"{folder}/max_perf_pct"),
        min_perf_pct=host.number(f"{folder}/min_perf_pct"),
        hwp_dynamic_boost=then(host.number(f"{folder}/hwp_dynamic_boost"), bool),
    )


def amd_pstate(host: Host) -> AmdPstate:
    folder = f"{SYS_CPU}/amd_pstate"
    return AmdPstate(status=host.line(f"{folder}/status"), prefcore=host.line(f"{folder}/prefcore"))


def uncore(host: Host) -> Seen[Map[Uncore]]:
    return then(host.names(_UNCORE), lambda names: Map({name: _uncore(host, f"{_UNCORE}/{name}") for name in names}))


def _uncore(host: Host, folder: str) -> Uncore:
    return Uncore(
        min_freq_khz=host.number(f"{folder}/min_freq_khz"), max_freq_khz=host.number(f"{folder}/max_freq_khz")
    )


def power_zones(host: Host) -> Seen[Map[PowerZone]]:
    """Packages only, `intel-rapl:0`; their parts (`intel-rapl:0:0`) rarely carry limits."""
    zones = then(
        host.names(_POWERCAP), lambda names: tuple(n for n in names if re.fullmatch(r"intel-rapl[\w-]*:\d+", n))
    )
    return then(zones, lambda names: Map({name: _power_zone(host, f"{_POWERCAP}/{name}") for name in names}))


def _power_zone(host: Host, folder: str) -> PowerZone:
    return PowerZone(
        name=host.line(f"{folder}/name"),
        enabled=then(host.number(f"{folder}/enabled"), bool),
        constraint_0_power_limit_uw=host.number(f"{folder}/constraint_0_power_limit_uw"),
        constraint_1_power_limit_uw=host.number(f"{folder}/constraint_1_power_limit_uw"),
    )
